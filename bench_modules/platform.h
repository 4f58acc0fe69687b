/* SPDX-License-Identifier: GPL-2.0-only */
/* What the harness needs of where it runs: in the kernel, or in a program. */
#ifndef BENCH_MODULES_PLATFORM_H
#define BENCH_MODULES_PLATFORM_H

#include <linux/types.h>

/* Where the core cycles of samples come from. */
enum bench_cycles {
	BENCH_CYCLES_NONE,
	BENCH_CYCLES_ESTIMATED,
	BENCH_CYCLES_COUNTED,
};

/* What there is here; and if they are counted, the counter. */
enum bench_cycles bench_cycles_source(void);
u64 bench_read_cycles(void);

/* Switches of the running thread so far; a window in which it grew was disturbed. */
u64 bench_count_switches(void);
void bench_pause(void);

#endif /* BENCH_MODULES_PLATFORM_H */
