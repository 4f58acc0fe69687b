/* SPDX-License-Identifier: GPL-2.0-only */
/* RCU of liburcu's bp flavour, which registers threads by itself and works in signal handlers. */
#ifndef NATIVE_RCUPDATE_H
#define NATIVE_RCUPDATE_H
#include <stdlib.h>
/*
 * Our licence permits liburcu's readers to be inlined, which costs less than calls.  Not under
 * UBSan: liburcu allocates readers with less alignment than its header declares.
 */
#if !defined(_LGPL_SOURCE) && !defined(NATIVE_UBSAN)
#define _LGPL_SOURCE
#include <urcu/urcu-bp.h>
#undef _LGPL_SOURCE
#endif
#include <urcu/urcu-bp.h>
#include <linux/compiler.h>

/*
 * ThreadSanitizer does not see what orders readers before the end of a grace
 * period: operations on this variable show it the order.
 */
#ifdef __SANITIZE_THREAD__
extern unsigned long native_rcu_order;
#define NATIVE_RCU_RELEASE()	((void)__atomic_fetch_add(&native_rcu_order, 1, __ATOMIC_RELEASE))
#define NATIVE_RCU_ACQUIRE()	((void)__atomic_load_n(&native_rcu_order, __ATOMIC_ACQUIRE))
#else
#define NATIVE_RCU_RELEASE()	((void)0)
#define NATIVE_RCU_ACQUIRE()	((void)0)
#endif

/* RCU watches everywhere in a program. */
#define RCU_LOCKDEP_WARN(condition, text)	((void)0)

static __always_inline void rcu_read_lock(void)
{
	urcu_bp_read_lock();
}

static __always_inline void rcu_read_unlock(void)
{
	NATIVE_RCU_RELEASE();
	urcu_bp_read_unlock();
}

static inline void synchronize_rcu(void)
{
	urcu_bp_synchronize_rcu();
	NATIVE_RCU_ACQUIRE();
}

/* cond_synchronize_rcu() always waits for a grace period, whatever the state. */
#define get_state_synchronize_rcu()	0UL
#define cond_synchronize_rcu(state)	((void)(state), synchronize_rcu())

/* liburcu's own rcu_assign_pointer() does not take a pointer to const. */
#undef rcu_assign_pointer
#define rcu_assign_pointer(p, v)	smp_store_release(&(p), v)
#define rcu_dereference_raw(p)		smp_load_acquire(&(p))
#define kfree_rcu(ptr, member)						\
do {									\
	synchronize_rcu();						\
	free(ptr);							\
} while (0)
#endif
