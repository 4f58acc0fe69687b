/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Compatibility code, as in compat.h, for the raw tracepoints of typed markers.  Clients include
 * this header through <kmarkers/typed.h>.
 */
#ifndef KMARKERS_COMPAT_TRACEPOINT_H
#define KMARKERS_COMPAT_TRACEPOINT_H

#include <linux/srcu.h>
#include <linux/tracepoint-defs.h>
#include <linux/version.h>

/*
 * ("tracing: Introduce tracepoint extended structure"), v6.13: before, the
 * functions that enable and disable a tracepoint were in struct tracepoint itself.
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
 * v7.0: before, disabling preemption protected readers of a tracepoint's array of functions.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
extern struct srcu_struct tracepoint_srcu;
#define compat_tracepoint_read()	guard(srcu_fast_notrace)(&tracepoint_srcu)
#else
#define compat_tracepoint_read()	do { } while (0)
#endif

#endif /* KMARKERS_COMPAT_TRACEPOINT_H */
