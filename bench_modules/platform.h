/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions of the benchmark harness that are implemented twice: for the kernel and user space. */
#ifndef BENCH_MODULES_PLATFORM_H
#define BENCH_MODULES_PLATFORM_H

#include <linux/types.h>

/*
 * How the core cycles in samples are found: not at all, by a chain of add instructions that take
 * one cycle each, or by a hardware counter of cycles.
 */
enum bench_cycles {
	BENCH_CYCLES_NONE,
	BENCH_CYCLES_ESTIMATED,
	BENCH_CYCLES_COUNTED,
};

/* Return the source of core cycles on this machine. */
enum bench_cycles bench_find_cycles_source(void);

/* Read the hardware counter of cycles.  Call this only if the source is BENCH_CYCLES_COUNTED. */
u64 bench_read_cycle_counter(void);

/*
 * Return the number of context switches of the current thread.  If this number grows during a
 * window, the sample of the window gets the flag BENCH_PREEMPTED.
 */
u64 bench_count_context_switches(void);

#endif /* BENCH_MODULES_PLATFORM_H */
