// SPDX-License-Identifier: GPL-2.0-only
/*
 * Call the probes of a marker.  Every hit of an enabled marker runs this code, so this file is
 * compiled without the stack protector, which the compiler would otherwise add because a va_list is
 * an array.
 */
#include <linux/compiler.h>
#include <linux/export.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>

#include <kmarkers/marker.h>

/*
 * Call the probes of @hit_marker. This is a macro because va_start() needs @last, the last named
 * parameter of the function.
 *
 * The marker, the private data and the format are kept in memory (struct marker_call). In
 * callee-saved registers, these data would force each hit to save and restore the registers.
 *
 * The load of the array pairs with rcu_assign_pointer() in publish_probes(). A published array is
 * not empty.
 */
#define CALL_PROBES(hit_marker, call_private, fmt, last)		\
do {									\
	const struct marker_probe *probe;				\
	marker_probe_func *func;					\
	struct marker_call call;					\
									\
	call.marker = hit_marker;					\
	call.private = call_private;					\
	call.format = fmt;						\
	preempt_disable_notrace();					\
	RCU_LOCKDEP_WARN(!rcu_is_watching(), "a marker where RCU is not watching"); \
	probe = rcu_dereference_raw(call.marker->probes);		\
	if (probe) {							\
		/* Pairs with the release in append_probe(). */		\
		func = smp_load_acquire(&probe->func);			\
		do {							\
			va_start(call.args, last);			\
			func(probe->private, call.private, call.format, &call.args); \
			va_end(call.args);				\
			probe++;					\
			/* Pairs with the release in append_probe(). */	\
			func = smp_load_acquire(&probe->func);		\
		} while (func);						\
	}								\
	preempt_enable_notrace();					\
} while (0)

/**
 * marker_call_probes() - call the probes of a marker, with the marker's format and no call_private
 * @marker: the marker
 *
 * trace_mark() calls this function while the marker is on. The format, which is the same at each
 * hit, is not an argument, so that each site has less code.
 *
 * Context: any.
 */
void marker_call_probes(const struct marker *marker, ...)
{
	CALL_PROBES(marker, NULL, marker->format, marker);
}
EXPORT_SYMBOL_GPL(marker_call_probes);

/**
 * marker_probe_call() - call the probes of a marker
 * @marker: the marker
 * @call_private: passed to the probes as call_private
 * @fmt: the marker's format
 *
 * trace_mark_flavour() calls this function while the marker is on, unless its argument call_data is
 * the constant NULL.
 *
 * Context: any.
 */
void marker_probe_call(const struct marker *marker, void *call_private, const char *fmt, ...)
{
	CALL_PROBES(marker, call_private, fmt, fmt);
}
EXPORT_SYMBOL_GPL(marker_probe_call);
