/* SPDX-License-Identifier: GPL-2.0-only */
/* Measuring a group. */
#ifndef BENCH_MODULES_RUN_H
#define BENCH_MODULES_RUN_H

#include <kmarkers/bench.h>

int bench_check_config(const struct bench_config *config, u32 nr_cpus);
unsigned int bench_planned(const struct bench_group *group, const struct bench_config *config);
int bench_alloc_result(const struct bench_group *group, const struct bench_config *config,
		       struct bench_result *result);
int bench_run_group(const struct bench_group *group, struct bench_result *result,
		    bool (*should_stop)(void));
u32 bench_random(u32 below);
void bench_free_result(struct bench_result *result);

#endif /* BENCH_MODULES_RUN_H */
