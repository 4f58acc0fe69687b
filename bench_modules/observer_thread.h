/* SPDX-License-Identifier: GPL-2.0-only */
/* The observer's thread, in the kernel or in a program. */
#ifndef BENCH_MODULES_OBSERVER_THREAD_H
#define BENCH_MODULES_OBSERVER_THREAD_H

#include <linux/types.h>

/*
 * Start the observer on a CPU other than the caller's.  Return 0, or -ENODEV if there
 * is no other CPU.  With @first it has priority over all threads on that CPU except
 * those of stop_machine(), for short runs; not with PREEMPT_RT.
 */
int bench_observer_start(bool first);
void bench_observer_stop(void);

#endif /* BENCH_MODULES_OBSERVER_THREAD_H */
