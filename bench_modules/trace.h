/* SPDX-License-Identifier: GPL-2.0-only */
/* The tracepoint that enabled markers are compared with. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM kmarkers_bench

#if !defined(BENCH_MODULES_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define BENCH_MODULES_TRACE_H

#include <linux/tracepoint.h>

TRACE_EVENT(kmarkers_bench,
	TP_PROTO(int number, void *pointer),
	TP_ARGS(number, pointer),
	TP_STRUCT__entry(
		__field(int, number)
		__field(void *, pointer)
	),
	TP_fast_assign(
		__entry->number = number;
		__entry->pointer = pointer;
	),
	TP_printk("%d %p", __entry->number, __entry->pointer)
);

#endif /* BENCH_MODULES_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
