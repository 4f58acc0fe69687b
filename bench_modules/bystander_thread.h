/* SPDX-License-Identifier: GPL-2.0-only */
/* The bystander's thread: in the kernel, or of a program. */
#ifndef BENCH_MODULES_BYSTANDER_THREAD_H
#define BENCH_MODULES_BYSTANDER_THREAD_H

#include <linux/types.h>

/*
 * On a CPU other than the caller's; -ENODEV if there is none.  With @first it
 * goes before all threads there but those of stop_machine(): for short runs, and
 * not with PREEMPT_RT.
 */
int bench_bystander_start(bool first);
void bench_bystander_stop(void);

#endif /* BENCH_MODULES_BYSTANDER_THREAD_H */
