/* SPDX-License-Identifier: GPL-2.0-only */
/* Measure a benchmark group. */
#ifndef BENCH_MODULES_RUN_H
#define BENCH_MODULES_RUN_H

#include <linux/slab.h>

#include <kmarkers/bench.h>

/* Allocation flags for samples: the allocation fails instead of invoking the OOM killer. */
#define BENCH_GFP	(GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

int bench_check_config(const struct bench_config *config, u32 nr_cpus);
u32 bench_count_planned_blocks(const struct bench_group *group, const struct bench_config *config);
u64 bench_count_planned_samples(const struct bench_group *group, const struct bench_config *config);
int bench_alloc_result(const struct bench_group *group, const struct bench_config *config,
		       struct bench_result *result);
int bench_run_group(const struct bench_group *group, struct bench_result *result,
		    bool (*should_stop)(void));
u32 bench_draw_random_below(u32 below);
void bench_free_result(struct bench_result *result);

#endif /* BENCH_MODULES_RUN_H */
