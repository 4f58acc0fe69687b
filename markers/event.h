/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The trace event kmarkers:marker, which the built-in probe "trace" writes.  <trace/define_trace.h>
 * includes this file several times.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM kmarkers

#if !defined(MARKERS_EVENT_H) || defined(TRACE_HEADER_MULTI_READ)
#define MARKERS_EVENT_H

#include <linux/tracepoint.h>

TRACE_EVENT(marker,
	TP_PROTO(const char *name, const char *site, const char *text),
	TP_ARGS(name, site, text),
	TP_STRUCT__entry(
		__string(name, name)
		__string(site, site)
		__string(text, text)
	),
	TP_fast_assign(
		compat_assign_str(name, name);
		compat_assign_str(site, site);
		compat_assign_str(text, text);
	),
	TP_printk("%s: %s (%s)", __get_str(name), __get_str(text), __get_str(site))
);

#endif /* MARKERS_EVENT_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE event
#include <trace/define_trace.h>
