/* SPDX-License-Identifier: GPL-2.0-only */
/* Tracepoints that the benchmarks compare with markers. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM kmarkers_bench

#if !defined(BENCH_MODULES_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define BENCH_MODULES_TRACE_H

#include <linux/tracepoint.h>

DECLARE_EVENT_CLASS(kmarkers_bench_class,
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

#define BENCH_DEFINE_EVENT(name)					\
	DEFINE_EVENT(kmarkers_bench_class, name,			\
		     TP_PROTO(int number, void *pointer), TP_ARGS(number, pointer))

/*
 * A number at the end of a tracepoint's name is the number of probes that are connected to the
 * tracepoint. kmarkers_bench_event is recorded as a trace event, kmarkers_bench_bpf has a BPF
 * program, and kmarkers_bench_off stays disabled.
 */
BENCH_DEFINE_EVENT(kmarkers_bench_1);
BENCH_DEFINE_EVENT(kmarkers_bench_2);
BENCH_DEFINE_EVENT(kmarkers_bench_8);
BENCH_DEFINE_EVENT(kmarkers_bench_event);
BENCH_DEFINE_EVENT(kmarkers_bench_bpf);
BENCH_DEFINE_EVENT(kmarkers_bench_off);

#endif /* BENCH_MODULES_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
