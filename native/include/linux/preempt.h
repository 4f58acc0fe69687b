/* SPDX-License-Identifier: GPL-2.0-only */
/* Disabled preemption is emulated by an RCU read-side section, which is all that callers need. */
#ifndef NATIVE_PREEMPT_H
#define NATIVE_PREEMPT_H
#include <linux/rcupdate.h>
#define preempt_disable_notrace()	rcu_read_lock()
#define preempt_enable_notrace()	rcu_read_unlock()
#endif
