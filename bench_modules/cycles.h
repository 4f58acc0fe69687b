/* SPDX-License-Identifier: GPL-2.0-only */
/* Measuring how many core cycles a tick of the TSC is. */
#ifndef BENCH_MODULES_CYCLES_H
#define BENCH_MODULES_CYCLES_H

#include <linux/types.h>

#define BENCH_CYCLES_SHIFT	20

u64 bench_cycles_ratio(void);

#endif /* BENCH_MODULES_CYCLES_H */
