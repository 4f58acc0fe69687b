/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * RCU for the threads of a program, implemented in native/rcu.c.  The functions for readers are
 * inline and consist of stores and compiler barriers, because writers use membarrier(2).
 */
#ifndef NATIVE_RCUPDATE_H
#define NATIVE_RCUPDATE_H
#include <stdbool.h>
#include <linux/compiler.h>

/*
 * Member of an object that kfree_rcu() frees.  The member holds the link in the queue of objects,
 * the address of the object, and the RCU period that must end before the object is freed.
 */
struct rcu_head {
	struct rcu_head *next;
	void *object;
	unsigned long state;
};

/*
 * State of a reader: the low bits are the nesting depth of its read-side sections, the high bits
 * are the period in which the outermost section began.
 */
#define KMARKERS_RCU_DEPTH	0xffffUL

/* A program, unlike a shared library, has kmarkers_rcu_reader at a constant offset from %fs. */
#if !defined(__PIC__) || defined(__PIE__)
#define NATIVE_RCU_LOCAL	__attribute__((__tls_model__("local-exec")))
#else
#define NATIVE_RCU_LOCAL
#endif
extern __thread unsigned long *kmarkers_rcu_reader NATIVE_RCU_LOCAL;
extern unsigned long kmarkers_rcu_period;
unsigned long *kmarkers_rcu_alloc_reader(void);

void native_rcu_synchronize(void);
bool native_rcu_poll_period_end(unsigned long period);
unsigned long native_rcu_begin_period(void);
void native_rcu_defer_free(struct rcu_head *head, void *object);

/*
 * ThreadSanitizer does not recognise that membarrier(2) orders readers before the end of a grace
 * period.  Atomic operations on this variable express that order.
 */
#ifdef __SANITIZE_THREAD__
extern unsigned long native_rcu_order;
#define NATIVE_RCU_RELEASE()	((void)__atomic_fetch_add(&native_rcu_order, 1, __ATOMIC_RELEASE))
#else
#define NATIVE_RCU_RELEASE()	((void)0)
#endif

/* Never warn: in a program, RCU is watching every thread at all times. */
#define RCU_LOCKDEP_WARN(condition, text)	((void)0)

/*
 * Enter a read-side section.  The increment need not be atomic: a signal handler that interrupts it
 * restores the depth.
 */
static __always_inline void rcu_read_lock(void)
{
	unsigned long *reader = kmarkers_rcu_reader, inside;

	if (unlikely(!reader))
		reader = kmarkers_rcu_alloc_reader();
	inside = READ_ONCE(*reader);
	if (likely(!(inside & KMARKERS_RCU_DEPTH)))
		inside = READ_ONCE(kmarkers_rcu_period);
	WRITE_ONCE(*reader, inside + 1);
	/* Pairs with membarrier(2) in native/rcu.c. */
	barrier();
}

static __always_inline void rcu_read_unlock(void)
{
	unsigned long *reader = kmarkers_rcu_reader;

	NATIVE_RCU_RELEASE();
	smp_store_release(reader, READ_ONCE(*reader) - 1);
}

#define synchronize_rcu()		native_rcu_synchronize()
#define get_state_synchronize_rcu()	native_rcu_begin_period()
/* Wait for a limited time only, because the caller holds locks that a reader may be waiting for. */
#define cond_synchronize_rcu(state)	((void)native_rcu_poll_period_end(state))
#define rcu_wait_succeeded(state)	native_rcu_poll_period_end(state)
/*
 * Free an object after a grace period.  Do not wait: if the grace period has not ended, a later
 * call of native_rcu_defer_free() frees the object.
 */
#define kfree_rcu(ptr, member)		native_rcu_defer_free(&(ptr)->member, ptr)
#define kvfree_rcu(ptr, member)		kfree_rcu(ptr, member)

#define rcu_assign_pointer(p, v)	smp_store_release(&(p), v)
#define rcu_dereference_raw(p)		smp_load_acquire(&(p))
#endif
