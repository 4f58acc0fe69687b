/* SPDX-License-Identifier: GPL-2.0-only */
/* cond_resched() does nothing: a program can be preempted anywhere. */
#ifndef NATIVE_SCHED_H
#define NATIVE_SCHED_H
#include_next <linux/sched.h>
#include <stdbool.h>
#define need_resched()	false
#define cond_resched()	((void)0)
#endif
