/* SPDX-License-Identifier: GPL-2.0-only */
/* What disabled preemption means to its users: an RCU read-side section. */
#ifndef NATIVE_PREEMPT_H
#define NATIVE_PREEMPT_H
#include <linux/rcupdate.h>
#define preempt_disable_notrace()	rcu_read_lock()
#define preempt_enable_notrace()	rcu_read_unlock()
#endif
