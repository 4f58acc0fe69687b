/* SPDX-License-Identifier: GPL-2.0-only */
/* Measure the number of core cycles per TSC tick. */
#ifndef BENCH_MODULES_CYCLES_H
#define BENCH_MODULES_CYCLES_H

#include <linux/types.h>

#define BENCH_CYCLES_SHIFT	20

u64 bench_measure_cycles_per_tick(void);

#endif /* BENCH_MODULES_CYCLES_H */
