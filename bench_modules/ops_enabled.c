// SPDX-License-Identifier: GPL-2.0-only
/*
 * marker-enabled: the cost of a marker while probes are connected, as measured for Markers 0.20 in
 * 2006.
 *
 * - register-args-*, varargs-* and stack-args-* are the markers of 2006: a marker calls one probe
 *   through a pointer, with two arguments.
 * - kprobe-on-probe is a marker of 2006 with a kprobe on its probe.  The probe copies its
 *   arguments.
 * - function-pointer is the call through a pointer alone, without a marker.
 * - marker-*-probe* and typed-direct-call* are today's markers with 1, 2 and 8 empty probes.
 * - tracepoint* (kernel only) are tracepoints with 1, 2 and 8 empty probes.
 * - marker-event and trace-event (kernel only) are a typed marker and a tracepoint whose trace
 *   events are enabled.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/preempt.h>
#include <linux/string.h>

#include "ops.h"
#include "typed_markers.h"

#if defined(__KERNEL__) && defined(CONFIG_EVENT_TRACING)
#define WITH_TRACEPOINTS
#include <linux/delay.h>
#include <linux/printk.h>
#include <linux/trace_events.h>
#define CREATE_TRACE_POINTS
#include "trace.h"
#endif

#if defined(__KERNEL__) && defined(CONFIG_KPROBES)
#define WITH_KPROBES
#include <linux/kprobes.h>
#endif

DEFINE_MARKER(bench_typed_1);
DEFINE_MARKER(bench_typed_2);
DEFINE_MARKER(bench_typed_8);
#ifdef WITH_TRACEPOINTS
DEFINE_MARKER(bench_typed_event);
#endif

static DEFINE_IMV(bool, enabled_2006);

/* Variables to which probes copy their arguments. */
static struct {
	int number;
	void *pointer;
} copy;

static noinline void empty_probe_with_register_args(const char *fmt, int number, void *pointer)
{
	barrier();
}

static noinline void empty_varargs_probe(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	barrier();
	va_end(args);
}

static void copy_stack_args(const char *fmt, int number, void *pointer)
{
	WRITE_ONCE(copy.number, number);
	WRITE_ONCE(copy.pointer, pointer);
}

#define COPY_VARARGS(fmt)						\
do {									\
	va_list args;							\
									\
	va_start(args, fmt);						\
	WRITE_ONCE(copy.number, va_arg(args, int));			\
	WRITE_ONCE(copy.pointer, va_arg(args, void *));			\
	va_end(args);							\
} while (0)

static void copy_varargs(const char *fmt, ...)
{
	COPY_VARARGS(fmt);
}

#ifdef WITH_KPROBES
/*
 * Do the same as copy_varargs().  A kprobe is registered on this function.  The attribute notrace
 * omits the ftrace nop at the entry, which the kprobe would use instead of a breakpoint.
 */
static noinline notrace void copy_varargs_kprobed(const char *fmt, ...)
{
	COPY_VARARGS(fmt);
}

static int empty_kprobe_pre_handler(struct kprobe *kprobe, struct pt_regs *regs)
{
	return 0;
}

/*
 * An empty post handler: if a kprobe has a post handler, the kernel does not optimise the kprobe to
 * a jump.
 */
static void empty_kprobe_post_handler(struct kprobe *kprobe, struct pt_regs *regs,
				      unsigned long flags)
{
}

static struct kprobe copy_kprobe = {
	.pre_handler = empty_kprobe_pre_handler,
	.post_handler = empty_kprobe_post_handler,
};

static bool kprobe_is_on;

static int register_kprobe_on_probe(void)
{
	int err;

	copy_kprobe.addr = (kprobe_opcode_t *)copy_varargs_kprobed;
	copy_kprobe.flags = 0;
	err = register_kprobe(&copy_kprobe);
	kprobe_is_on = !err;
	return err;
}

static void unregister_kprobe_on_probe(void)
{
	if (kprobe_is_on)
		unregister_kprobe(&copy_kprobe);
	kprobe_is_on = false;
}
#else
static int register_kprobe_on_probe(void)
{
	return 0;
}

static void unregister_kprobe_on_probe(void)
{
}
#endif

/* A probe that parses the format string, and reads an argument for each %d and %p in it. */
static void copy_args_by_format(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	for (; *fmt; fmt++) {
		if (*fmt != '%')
			continue;
		switch (*++fmt) {
		case 'd':
			WRITE_ONCE(copy.number, va_arg(args, int));
			break;
		case 'p':
			WRITE_ONCE(copy.pointer, va_arg(args, void *));
			break;
		default:
			fmt--;
		}
	}
	va_end(args);
}

typedef void registers_func(const char *fmt, int number, void *pointer);
typedef void varargs_func(const char *fmt, ...);

static registers_func *call_registers = empty_probe_with_register_args;
static registers_func *call_copy_stack = copy_stack_args;
static varargs_func *call_varargs = empty_varargs_probe, *call_copy_varargs = copy_varargs;
static varargs_func *call_decode = copy_args_by_format;
#ifdef WITH_KPROBES
static varargs_func *call_kprobed = copy_varargs_kprobed;
#endif

#define CALL_2006(probe)						\
do {									\
	if (unlikely(imv_branch(enabled_2006))) {			\
		preempt_disable_notrace();				\
		READ_ONCE(probe)("%d %p", 1, NULL);		\
		preempt_enable_notrace();				\
	}								\
} while (0)

#define CALL_2006_PREEMPTIBLE(probe)				\
do {									\
	if (unlikely(imv_branch(enabled_2006)))				\
		READ_ONCE(probe)("%d %p", 1, NULL);		\
} while (0)

BENCH_OPS(enabled_none, (void)0)
BENCH_OPS(enabled_clone, (void)0)
BENCH_OPS(enabled_registers, CALL_2006(call_registers))
BENCH_OPS(enabled_varargs, CALL_2006(call_varargs))
BENCH_OPS(enabled_preemptible, CALL_2006_PREEMPTIBLE(call_varargs))
BENCH_OPS(enabled_copy_stack, CALL_2006(call_copy_stack))
BENCH_OPS(enabled_copy_varargs, CALL_2006(call_copy_varargs))
BENCH_OPS(enabled_decode, CALL_2006(call_decode))
#ifdef WITH_KPROBES
BENCH_OPS(enabled_kprobe, CALL_2006(call_kprobed))
#endif
BENCH_OPS(enabled_pointer, READ_ONCE(call_registers)("%d %p", 1, NULL))
BENCH_OPS(enabled_classic_1, trace_mark(bench_classic_1, "%d %p", 1, NULL))
BENCH_OPS(enabled_classic_2, trace_mark(bench_classic_2, "%d %p", 1, NULL))
BENCH_OPS(enabled_classic_8, trace_mark(bench_classic_8, "%d %p", 1, NULL))
BENCH_OPS(enabled_typed_1, mark_typed(bench_typed_1, 1, NULL))
BENCH_OPS(enabled_typed_2, mark_typed(bench_typed_2, 1, NULL))
BENCH_OPS(enabled_typed_8, mark_typed(bench_typed_8, 1, NULL))
#ifdef WITH_TRACEPOINTS
BENCH_OPS(enabled_tracepoint_1, trace_kmarkers_bench_1(1, NULL))
BENCH_OPS(enabled_tracepoint_2, trace_kmarkers_bench_2(1, NULL))
BENCH_OPS(enabled_tracepoint_8, trace_kmarkers_bench_8(1, NULL))
BENCH_OPS(enabled_marker_event, mark_typed(bench_typed_event, 1, NULL))
BENCH_OPS(enabled_trace_event, trace_kmarkers_bench_event(1, NULL))
#endif

static const struct bench_variant enabled_variants[] = {
	BENCH_ROW("none", enabled_none),
	BENCH_ROW("none-clone", enabled_clone),
	BENCH_ROW("register-args-empty-probe", enabled_registers),
	BENCH_ROW("varargs-empty-probe", enabled_varargs),
	BENCH_ROW("varargs-empty-probe-no-preempt-disable", enabled_preemptible),
	BENCH_ROW("stack-args-probe-copies-data", enabled_copy_stack),
	BENCH_ROW("varargs-probe-copies-data", enabled_copy_varargs),
	BENCH_ROW("varargs-probe-decodes-format", enabled_decode),
#ifdef WITH_KPROBES
	BENCH_ROW("kprobe-on-probe", enabled_kprobe),
#endif
	BENCH_ROW("function-pointer", enabled_pointer),
	BENCH_ROW("marker-1-probe", enabled_classic_1),
	BENCH_ROW("marker-2-probes", enabled_classic_2),
	BENCH_ROW("marker-8-probes", enabled_classic_8),
	BENCH_ROW("typed-direct-call", enabled_typed_1),
	BENCH_ROW("typed-direct-call-2-probes", enabled_typed_2),
	BENCH_ROW("typed-direct-call-8-probes", enabled_typed_8),
#ifdef WITH_TRACEPOINTS
	BENCH_ROW("tracepoint", enabled_tracepoint_1),
	BENCH_ROW("tracepoint-2-probes", enabled_tracepoint_2),
	BENCH_ROW("tracepoint-8-probes", enabled_tracepoint_8),
	BENCH_ROW("marker-event", enabled_marker_event),
	BENCH_ROW("trace-event", enabled_trace_event),
#endif
};

static void empty_probe(void *private, void *call_private, const char *fmt, va_list *args)
{
}

static void empty_typed_probe(void *private, int number, void *pointer)
{
}

#define MOST_PROBES	8

static u8 tags[MOST_PROBES];

#ifdef WITH_TRACEPOINTS
static struct {
	struct tracepoint *tracepoint;
	unsigned int most;	/* number of probes to register */
	unsigned int nr;	/* number of registered probes */
} connected[] = {
	{ &__tracepoint_kmarkers_bench_1, 1 },
	{ &__tracepoint_kmarkers_bench_2, 2 },
	{ &__tracepoint_kmarkers_bench_8, 8 },
};

static int switch_bench_trace_events(bool on)
{
	int marker = trace_set_clr_event("kmarkers", "bench_typed_event", on);
	int event = trace_set_clr_event("kmarkers_bench", "kmarkers_bench_event", on);

	return marker ?: event;
}

/*
 * Enable the trace events.  Retry for 2 seconds, because the trace events of this module's markers
 * may be created some time after the module was loaded.
 */
static int enable_trace_events(void)
{
	unsigned int tries = 100;
	int err;

	while ((err = switch_bench_trace_events(true)) && --tries)
		msleep(20);
	if (err)
		pr_warn("benchmark marker-enabled: not measured: cannot enable trace events: error %d\n",
			err);
	return err;
}

static int register_tracepoint_probes(void)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < ARRAY_SIZE(connected) && !err; i++) {
		while (!err && connected[i].nr < connected[i].most) {
			err = tracepoint_probe_register(connected[i].tracepoint, empty_typed_probe,
							&tags[connected[i].nr]);
			connected[i].nr += !err;
		}
	}
	return err ?: enable_trace_events();
}

static void unregister_tracepoint_probes(void)
{
	unsigned int i;

	switch_bench_trace_events(false);
	for (i = 0; i < ARRAY_SIZE(connected); i++)
		while (connected[i].nr)
			tracepoint_probe_unregister(connected[i].tracepoint, empty_typed_probe,
						    &tags[--connected[i].nr]);
	tracepoint_synchronize_unregister();
}
#else
static int register_tracepoint_probes(void)
{
	return 0;
}

static void unregister_tracepoint_probes(void)
{
}
#endif

/* Register probe number @n, counted from 0, with each marker that needs more than @n probes. */
static int register_nth_probe(unsigned int n)
{
	int err = marker_probe_register("bench_classic_8", NULL, empty_probe, &tags[n]);

	if (!err)
		err = marker_register_bench_typed_8(empty_typed_probe, &tags[n]);
	if (!err && n < 2)
		err = marker_probe_register("bench_classic_2", NULL, empty_probe, &tags[n]);
	if (!err && n < 2)
		err = marker_register_bench_typed_2(empty_typed_probe, &tags[n]);
	if (!err && n < 1)
		err = marker_probe_register("bench_classic_1", NULL, empty_probe, &tags[n]);
	if (!err && n < 1)
		err = marker_register_bench_typed_1(empty_typed_probe, &tags[n]);
	return err;
}

/* Unregister probe number @n from all markers.  Markers without this probe are skipped. */
static void unregister_nth_probe(unsigned int n)
{
	marker_probe_unregister("bench_classic_1", empty_probe, &tags[n]);
	marker_probe_unregister("bench_classic_2", empty_probe, &tags[n]);
	marker_probe_unregister("bench_classic_8", empty_probe, &tags[n]);
	marker_unregister_bench_typed_1(empty_typed_probe, &tags[n]);
	marker_unregister_bench_typed_2(empty_typed_probe, &tags[n]);
	marker_unregister_bench_typed_8(empty_typed_probe, &tags[n]);
}

static void unregister_all_probes(void)
{
	unsigned int n;

	for (n = 0; n < MOST_PROBES; n++)
		unregister_nth_probe(n);
	marker_synchronize_unregister();
	imv_set(enabled_2006, false);
}

static void teardown_enabled_probes(void)
{
	unregister_kprobe_on_probe();
	unregister_tracepoint_probes();
	unregister_all_probes();
}

static int setup_enabled_probes(void)
{
	unsigned int n;
	int err = imv_set(enabled_2006, true);

	for (n = 0; n < MOST_PROBES && !err; n++)
		err = register_nth_probe(n);
	if (!err)
		err = register_tracepoint_probes();
	if (!err)
		err = register_kprobe_on_probe();
	if (err)
		teardown_enabled_probes();
	return err;
}

const struct bench_group bench_marker_enabled = {
	.name = "marker-enabled",
	.variants = enabled_variants,
	.nr_variants = ARRAY_SIZE(enabled_variants),
	.setup = setup_enabled_probes,
	.teardown = teardown_enabled_probes,
	.arms = true,
};
