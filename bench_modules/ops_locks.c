// SPDX-License-Identifier: GPL-2.0-only
/*
 * lock-pair-*: the cost of a dormant probe after taking and after releasing an uncontended lock,
 * as measured for the SDT probes of FreeBSD in 2015.
 *
 * sdt-func-ptr is the implementation of FreeBSD's probes before 2015: a test of the probe's id,
 * which is 0 while the probe is disabled, and a call through a pointer.  sdt-breakpoint is the
 * implementation since 2015: a nop, with the arguments in the registers that a call would use.
 */
#include <linux/errno.h>
#include <linux/kernel.h>

#include <kmarkers/marker.h>
#include <kmarkers/sdt.h>

#include "locks.h"
#include "ops.h"
#include "sdt_forms.h"

SDT_PROVIDER_DEFINE(bench_lock);
SDT_PROBE_DEFINE1(bench_lock, , , acquire, "void *");
SDT_PROBE_DEFINE1(bench_lock, , , release, "void *");

static struct form_probe acquire, release;

#define NO_PROBE(name, lock)		((void)0)
#define FUNC_PTR(name, lock)		FORM_FUNC_PTR(name, lock)
#define BREAKPOINT(name, lock)						\
	SDT_PROBE_FLAVOUR(breakpoint, bench_lock, , , name, lock)
#define JUMP(name, lock)		SDT_PROBE_FLAVOUR(jump, bench_lock, , , name, lock)
#define MARKER(name, lock)		trace_mark(bench_lock_##name, "%p", lock)

#define PAIR(probe, lock, LOCK)						\
	LOCK##_LOCK();							\
	probe(acquire, lock);						\
	LOCK##_UNLOCK();						\
	probe(release, lock)

/*
 * Use BENCH_OPS_OPEN(), which leaves interrupts on, because a task may sleep on a mutex and, with
 * PREEMPT_RT, also on a spinlock.
 */
#define LOCK_GROUP(id, label, lock, LOCK)				\
BENCH_OPS_OPEN(id##_none, PAIR(NO_PROBE, lock, LOCK))			\
BENCH_OPS_OPEN(id##_clone, PAIR(NO_PROBE, lock, LOCK))			\
BENCH_OPS_OPEN(id##_func_ptr, PAIR(FUNC_PTR, lock, LOCK))		\
BENCH_OPS_OPEN(id##_breakpoint, PAIR(BREAKPOINT, lock, LOCK))		\
BENCH_OPS_OPEN(id##_jump, PAIR(JUMP, lock, LOCK))			\
BENCH_OPS_OPEN(id##_marker, PAIR(MARKER, lock, LOCK))			\
									\
static const struct bench_variant id##_variants[] = {			\
	BENCH_ROW("no-probes", id##_none),				\
	BENCH_ROW("no-probes-clone", id##_clone),			\
	BENCH_ROW("sdt-func-ptr", id##_func_ptr),			\
	BENCH_ROW("sdt-breakpoint", id##_breakpoint),			\
	BENCH_ROW("sdt-jump", id##_jump),				\
	BENCH_ROW("marker-jump", id##_marker),				\
};									\
									\
const struct bench_group bench_lock_pair_##id = {			\
	.name = "lock-pair-" label,					\
	.variants = id##_variants,					\
	.nr_variants = ARRAY_SIZE(id##_variants),			\
	.setup = init_bench_locks,					\
	.select = check_sites_of_lock_probes,				\
}

static int init_bench_locks(void)
{
	LOCKS_SETUP();
	return 0;
}

/* Check before the windows of every variant that both probes are disabled: see ops_sdt.c. */
static int check_sites_of_lock_probes(unsigned int variant)
{
	return sdt_check_site_states(&sdt_bench_lock___acquire, 0, false) ?:
	       sdt_check_site_states(&sdt_bench_lock___release, 0, false);
}

LOCK_GROUP(spinlock, "spinlock", &the_spinlock, SPINLOCK);
LOCK_GROUP(mutex, "mutex", &the_mutex, MUTEX);
LOCK_GROUP(rwlock_read, "rwlock-read", &the_rwlock, RWLOCK_READ);
LOCK_GROUP(rwlock_write, "rwlock-write", &the_rwlock, RWLOCK_WRITE);
#ifdef __KERNEL__
LOCK_GROUP(rwsem_read, "rwsem-read", &the_rwsem, RWSEM_READ);
LOCK_GROUP(rwsem_write, "rwsem-write", &the_rwsem, RWSEM_WRITE);
#endif
