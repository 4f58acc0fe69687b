/* SPDX-License-Identifier: GPL-2.0-only */
/* A program is preempted without being asked. */
#ifndef NATIVE_SCHED_H
#define NATIVE_SCHED_H
#include_next <linux/sched.h>
#include <stdbool.h>
#define need_resched()	false
#endif
