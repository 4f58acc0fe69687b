/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions of the platform that the harness runs on: the kernel, or a program. */
#ifndef BENCH_MODULES_PLATFORM_H
#define BENCH_MODULES_PLATFORM_H

#include <linux/types.h>

/* Sources of the core cycles in samples. */
enum bench_cycles {
	BENCH_CYCLES_NONE,
	BENCH_CYCLES_ESTIMATED,
	BENCH_CYCLES_COUNTED,
};

/* The source on this machine, and, if cycles are counted, the value of the counter. */
enum bench_cycles bench_cycles_source(void);
u64 bench_read_cycles(void);

/*
 * Return the number of context switches of the running thread; a window in which it grows was
 * disturbed.
 */
u64 bench_count_switches(void);

#endif /* BENCH_MODULES_PLATFORM_H */
