/* SPDX-License-Identifier: GPL-2.0-only */
/* What disabled preemption means to its users: an RCU read-side section. */
#ifndef NATIVE_PREEMPT_H
#define NATIVE_PREEMPT_H
#include <linux/rcupdate.h>
#define preempt_disable_notrace()	urcu_bp_read_lock()
#define preempt_enable_notrace()	urcu_bp_read_unlock()
#endif
