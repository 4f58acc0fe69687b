/* SPDX-License-Identifier: GPL-2.0-only */
/* Choose the loop counts of a variant. */
#ifndef BENCH_MODULES_LOOPS_H
#define BENCH_MODULES_LOOPS_H

#include <kmarkers/bench.h>

int bench_find_loop_counts(const struct bench_group *group, unsigned int variant,
			   u32 loops[BENCH_LOOP_COUNTS]);

/* Delay for about @iterations core cycles. */
void bench_delay(u32 iterations);

#endif /* BENCH_MODULES_LOOPS_H */
