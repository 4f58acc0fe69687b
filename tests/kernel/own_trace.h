/* SPDX-License-Identifier: GPL-2.0-only */
/* A tracepoint whose callback is in the same module: see callbacks.c. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM kmarkers_test

#if !defined(TESTS_KERNEL_OWN_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define TESTS_KERNEL_OWN_TRACE_H

#include <linux/tracepoint.h>

TRACE_EVENT(kmarkers_test_own,
	TP_PROTO(unsigned long number),
	TP_ARGS(number),
	TP_STRUCT__entry(
		__field(unsigned long, number)
	),
	TP_fast_assign(
		__entry->number = number;
	),
	TP_printk("%lu", __entry->number)
);

#endif /* TESTS_KERNEL_OWN_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE own_trace
#include <trace/define_trace.h>
