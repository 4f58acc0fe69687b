/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What compat.h is for all files, for the raw tracepoints of typed markers.  Clients read this
 * header through <kmarkers/typed.h>.
 */
#ifndef KMARKERS_COMPAT_TRACEPOINT_H
#define KMARKERS_COMPAT_TRACEPOINT_H

#include <linux/srcu.h>
#include <linux/tracepoint-defs.h>
#include <linux/version.h>

/*
 * ("tracing: Introduce tracepoint extended structure"), v6.13: before, the
 * functions that switch a tracepoint on and off were in it.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
struct compat_tracepoint {
	struct tracepoint tp;
	struct tracepoint_ext ext;
};

#define COMPAT_TRACEPOINT_INIT(self, text, on, off) {			\
	.tp = { .name = text, .ext = &(self).ext },			\
	.ext = { .regfunc = on, .unregfunc = off },			\
}
#else
struct compat_tracepoint {
	struct tracepoint tp;
};

#define COMPAT_TRACEPOINT_INIT(self, text, on, off) {			\
	.tp = { .name = text, .regfunc = on, .unregfunc = off },	\
}
#endif

/*
 * ("tracing: Guard __DECLARE_TRACE() use of __DO_TRACE_CALL() with SRCU-fast"),
 * v7.0: before, a CPU with preemption off was a reader of the functions of a tracepoint.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
extern struct srcu_struct tracepoint_srcu;
#define compat_tracepoint_read()	guard(srcu_fast_notrace)(&tracepoint_srcu)
#else
#define compat_tracepoint_read()	do { } while (0)
#endif

#endif /* KMARKERS_COMPAT_TRACEPOINT_H */
