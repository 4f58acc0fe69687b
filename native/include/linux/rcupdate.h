/* SPDX-License-Identifier: GPL-2.0-only */
/* RCU by liburcu's bp flavour, which registers threads by itself. */
#ifndef NATIVE_RCUPDATE_H
#define NATIVE_RCUPDATE_H
#include <stdlib.h>
#include <urcu/urcu-bp.h>
#include <linux/compiler.h>

#define synchronize_rcu()		urcu_bp_synchronize_rcu()
/* liburcu's own takes no pointer to const. */
#undef rcu_assign_pointer
#define rcu_assign_pointer(p, v)	smp_store_release(&(p), v)
#define rcu_dereference_raw(p)		rcu_dereference(p)
#define kfree_rcu(ptr, member)						\
do {									\
	urcu_bp_synchronize_rcu();					\
	free(ptr);							\
} while (0)
#endif
