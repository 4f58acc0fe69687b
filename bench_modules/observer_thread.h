/* SPDX-License-Identifier: GPL-2.0-only */
/* Start and stop the observer thread, in the kernel or in user space. */
#ifndef BENCH_MODULES_OBSERVER_THREAD_H
#define BENCH_MODULES_OBSERVER_THREAD_H

#include <linux/types.h>

/*
 * Start the observer thread on a CPU other than the caller's.  Return 0, -ENODEV if there is no
 * other CPU, or another error.  If @realtime is true, the thread has a real-time priority, so only
 * threads of a higher priority, like the threads of stop_machine(), preempt it.  Set @realtime only
 * for short runs.  @realtime has no effect with PREEMPT_RT or in user space.
 */
int bench_observer_start(bool realtime);
void bench_observer_stop(void);

/*
 * In the kernel only: return true if the CPU of the observer thread went offline, so that the
 * thread was moved to another CPU.  If the thread has ended, only the first call returns true.
 */
bool bench_observer_has_moved(void);

#endif /* BENCH_MODULES_OBSERVER_THREAD_H */
