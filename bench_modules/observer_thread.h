/* SPDX-License-Identifier: GPL-2.0-only */
/* Start and stop the observer thread, in the kernel or in a program. */
#ifndef BENCH_MODULES_OBSERVER_THREAD_H
#define BENCH_MODULES_OBSERVER_THREAD_H

#include <linux/types.h>

/*
 * Start the observer thread on a CPU other than the caller's.  Return 0, or -ENODEV if there is no
 * other CPU.  @first is for short runs: the thread gets a real-time priority, so that on its CPU
 * only threads such as those of stop_machine() preempt it; not with PREEMPT_RT.
 */
int bench_observer_start(bool first);
void bench_observer_stop(void);

#endif /* BENCH_MODULES_OBSERVER_THREAD_H */
