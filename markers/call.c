// SPDX-License-Identifier: GPL-2.0-only
/*
 * Call the probes of a marker.  Every hit of an enabled marker runs this code, so this file is
 * compiled without the stack protector.  Otherwise the compiler would add the stack protector,
 * because a va_list is an array.
 */
#include <linux/compiler.h>
#include <linux/export.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>

#include <kmarkers/marker.h>

/**
 * marker_probe_call() - call the probes of a marker
 * @marker: the marker
 * @call_private: passed to the probes
 * @fmt: the marker's format
 *
 * trace_mark() calls this function while the marker is on.
 *
 * Context: any.
 */
void marker_probe_call(const struct marker *marker, void *call_private, const char *fmt, ...)
{
	const struct marker_probe *probe;
	marker_probe_func *func;
	struct marker_call call;

	/*
	 * Keep the marker, the private data and the format in memory: callee-saved registers for
	 * them would be saved and restored at each hit.
	 */
	call.marker = marker;
	call.private = call_private;
	call.format = fmt;
	preempt_disable_notrace();
	RCU_LOCKDEP_WARN(!rcu_is_watching(), "a marker where RCU is not watching");
	/* Pairs with rcu_assign_pointer() in publish_probes(); a published array is not empty. */
	probe = rcu_dereference_raw(marker->probes);
	if (!probe)
		goto out;
	/* Pairs with the release in append_probe(). */
	func = smp_load_acquire(&probe->func);
	do {
		va_start(call.args, fmt);
		func(probe->private, call.private, call.format, &call.args);
		va_end(call.args);
		probe++;
		/* Pairs with the release in append_probe(). */
		func = smp_load_acquire(&probe->func);
	} while (func);
out:
	preempt_enable_notrace();
}
EXPORT_SYMBOL_GPL(marker_probe_call);
