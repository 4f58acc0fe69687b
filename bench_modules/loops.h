/* SPDX-License-Identifier: GPL-2.0-only */
/* Choice of the loop counts of a variant. */
#ifndef BENCH_MODULES_LOOPS_H
#define BENCH_MODULES_LOOPS_H

#include <kmarkers/bench.h>

int bench_find_loops(const struct bench_group *group, unsigned int variant,
		     u32 loops[BENCH_LOOP_COUNTS]);

/* Delay by a number of cycles in proportion to @turns. */
void bench_dither(u32 turns);

#endif /* BENCH_MODULES_LOOPS_H */
