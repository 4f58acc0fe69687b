// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the historical interfaces of markers: the interface of 2006, and the functions that
 * Linux 2.6.25 to 2.6.31 had beside marker_probe_register().  The code is written in the style of
 * clients of that time.
 */
#include <linux/compiler.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/marker.h>
#include <linux/string.h>

#include "cases.h"

/* ---- 2006 ---- */

#define SUBSYS_EVENT_FORMAT "%d %s"
#define SUBSYS_WIDE_FORMAT "%d %lld %p %s %u %ld %lld %d %hhd %d"

static int subsys_calls, subsys_value;
static const char *subsys_text, *subsys_format;
static bool ten_args_seen;

static void probe_subsys_event(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	subsys_value = va_arg(ap, typeof(subsys_value));
	subsys_text = va_arg(ap, typeof(subsys_text));
	va_end(ap);
	subsys_format = format;
	subsys_calls++;
}

static void check_ten_args(const char *format, ...)
{
	bool good;
	va_list ap;

	va_start(ap, format);
	good = va_arg(ap, int) == -1;
	good &= va_arg(ap, long long) == -(1LL << 40);
	good &= va_arg(ap, void *) == &subsys_calls;
	good &= va_arg(ap, char *) == subsys_text;
	good &= va_arg(ap, unsigned int) == 0xf0000005;
	good &= va_arg(ap, long) == -6L;
	good &= va_arg(ap, long long) == 1LL << 50;
	good &= va_arg(ap, int) == -8;
	good &= va_arg(ap, int) == 9;
	good &= va_arg(ap, int) == -10;
	va_end(ap);
	ten_args_seen = good;
}

static void variadic_probe_without_args(const char *format, ...)
{
	subsys_format = format;
	subsys_calls++;
}

static noinline void subsys_event(int value, const char *text)
{
	MARK(test_2006, SUBSYS_EVENT_FORMAT, value, text);
	MARK(test_2006, SUBSYS_EVENT_FORMAT, value + 1, text);
	MARK(test_2006, "%ld %s", (long)value + 2, text);
}

static noinline void hit_marker_with_ten_args(void)
{
	MARK(test_2006_wide, SUBSYS_WIDE_FORMAT, -1, -(1LL << 40), &subsys_calls, subsys_text,
	     0xf0000005, -6L, 1LL << 50, -8, 9, -10);
}

static noinline void subsys_noargs(void)
{
	MARK(test_2006_noargs, MARK_NOARGS);
}

/* ---- 2.6.28 ---- */

DEFINE_MARKER(test_2628, "%ld");

static noinline void call_probes_by_2_6_28_api(long value)
{
	marker_probe_call(&GET_MARKER(test_2628), &subsys_calls, GET_MARKER(test_2628).format,
			  value);
}

/* ---- 2.6.25 ---- */

static unsigned long calls[3];

static void increment_private(void *probe_private, void *call_private, const char *fmt,
			      va_list *args)
{
	(*(unsigned long *)probe_private)++;
}

static void count_expected_call(void *private, void *call_private, const char *fmt, va_list *args)
{
	if (call_private == &subsys_calls && va_arg(*args, long) == -5L)
		(*(unsigned long *)private)++;
}

static void empty_probe(void *probe_private, void *call_private, const char *fmt, va_list *args)
{
}

void legacy_cleanup(void)
{
	unsigned int i;

	marker_remove_probe(probe_subsys_event);
	marker_remove_probe(check_ten_args);
	marker_remove_probe(variadic_probe_without_args);
	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		marker_probe_unregister("test_2006", increment_private, &calls[i]);
		marker_probe_unregister("test_legacy_none", increment_private, &calls[i]);
		marker_probe_unregister("test_2628", count_expected_call, &calls[i]);
	}
	marker_synchronize_unregister();
	memset(calls, 0, sizeof(calls));
	subsys_calls = 0;
}

const char *markers_2006_call_probes(void)
{
	static const char text[] = "text";

	EXPECT(marker_set_probe("test_2006", SUBSYS_EVENT_FORMAT, probe_subsys_event) == 2);
	subsys_event(41, text);
	EXPECT(subsys_calls == 2 && subsys_value == 42 && subsys_text == text);
	EXPECT(!strcmp(subsys_format, SUBSYS_EVENT_FORMAT));
	EXPECT(marker_list_probe(probe_subsys_event) == 2);

	/* Register and unregister a probe of 2.6.25 beside the probe of 2006. */
	EXPECT(!marker_probe_register("test_2006", NULL, increment_private, &calls[0]));
	subsys_event(51, text);
	EXPECT(subsys_calls == 4 && subsys_value == 52 && calls[0] == 2);
	EXPECT(!marker_probe_unregister("test_2006", increment_private, &calls[0]));

	EXPECT(marker_remove_probe(probe_subsys_event) == 2);
	subsys_event(61, text);
	EXPECT(subsys_calls == 4 && subsys_value == 52);
	EXPECT(marker_list_probe(probe_subsys_event) == 0);
	return NULL;
}

const char *markers_2006_pass_arguments(void)
{
	/* Cast the probe, as those clients did whose headers declared another type for probes. */
	EXPECT(marker_set_probe("test_2006_wide", SUBSYS_WIDE_FORMAT,
				(marker_probe_func *)(void *)check_ten_args) == 1);
	ten_args_seen = false;
	hit_marker_with_ten_args();
	EXPECT(ten_args_seen);
	EXPECT(marker_set_probe("test_2006_noargs", MARK_NOARGS, variadic_probe_without_args) == 1);
	subsys_noargs();
	EXPECT(subsys_calls == 1 && !strcmp(subsys_format, MARK_NOARGS));
	return NULL;
}

const char *markers_2006_report_errors(void)
{
	EXPECT(marker_set_probe("test_nowhere", NULL, probe_subsys_event) == 0);
	EXPECT(marker_set_probe(NULL, NULL, probe_subsys_event) == 0);
	EXPECT(marker_set_probe("test_2006", NULL, (marker_probe_2006 *)NULL) == 0);
	EXPECT(marker_set_probe("test_2006", "%p", probe_subsys_event) == 0);
	/* A probe whose format no marker has is not connected, and sets no format for the name. */
	EXPECT(marker_set_probe("test_2006", "%ld %s", variadic_probe_without_args) == 1);
	EXPECT(marker_remove_probe(variadic_probe_without_args) == 1);
	EXPECT(marker_remove_probe(probe_subsys_event) == 0);
	EXPECT(marker_set_probe("test_2006", NULL, probe_subsys_event) == 2);
	/* Connecting a probe that is already connected changes nothing. */
	EXPECT(marker_set_probe("test_2006", NULL, probe_subsys_event) == 2);
	EXPECT(marker_set_probe("test_2006", SUBSYS_EVENT_FORMAT, probe_subsys_event) == 2);
	EXPECT(marker_set_probe("test_2006", "%ld %s", probe_subsys_event) == 0);
	EXPECT(marker_set_probe("test_2006", "%ld %s", variadic_probe_without_args) == 0);
	subsys_event(1, "");
	EXPECT(subsys_calls == 2);
	EXPECT(marker_remove_probe(probe_subsys_event) == 2);
	/* The failed calls of marker_set_probe() have set no format for the name test_2006. */
	EXPECT(marker_set_probe("test_2006", "%ld %s", variadic_probe_without_args) == 1);
	EXPECT(marker_remove_probe(variadic_probe_without_args) == 1);
	return NULL;
}

const char *markers_of_2_6_28_call_probes(void)
{
	EXPECT(!marker_probe_register("test_2628", "%ld", count_expected_call, &calls[0]));
	EXPECT(marker_probe_register("test_2628", "%d", count_expected_call, &calls[1]) == -EPERM);
	call_probes_by_2_6_28_api(-5);
	EXPECT(calls[0] == 1);
	EXPECT(marker_set_probe("test_2628", "%ld", variadic_probe_without_args) == 1);
	call_probes_by_2_6_28_api(-5);
	EXPECT(calls[0] == 2 && subsys_calls == 1 && !strcmp(subsys_format, "%ld"));
	EXPECT(!marker_probe_unregister("test_2628", count_expected_call, &calls[0]));
	EXPECT(marker_remove_probe(variadic_probe_without_args) == 1);
	call_probes_by_2_6_28_api(-5);
	EXPECT(calls[0] == 2 && subsys_calls == 1);
	return NULL;
}

const char *markers_find_probes_by_private_data(void)
{
	EXPECT(marker_get_private_data("test_legacy_none", increment_private, 0) ==
	       ERR_PTR(-ENOENT));
	EXPECT(marker_get_private_data(NULL, increment_private, 0) == ERR_PTR(-ENOENT));
	EXPECT(marker_probe_unregister_private_data(increment_private, &calls[0]) == -ENOENT);

	EXPECT(!marker_probe_register("test_2006", SUBSYS_EVENT_FORMAT, increment_private,
				      &calls[0]));
	EXPECT(!marker_probe_register("test_2006", NULL, empty_probe, &calls[2]));
	EXPECT(!marker_probe_register("test_2006", NULL, increment_private, &calls[1]));
	EXPECT(!marker_probe_register("test_legacy_none", NULL, increment_private, &calls[1]));
	EXPECT(marker_get_private_data("test_2006", increment_private, 0) == &calls[0]);
	EXPECT(marker_get_private_data("test_2006", increment_private, 1) == &calls[1]);
	EXPECT(marker_get_private_data("test_2006", increment_private, 2) == ERR_PTR(-ENOENT));
	EXPECT(marker_get_private_data("test_2006", increment_private, -1) == ERR_PTR(-ENOENT));
	EXPECT(marker_get_private_data("test_2006", empty_probe, 0) == &calls[2]);

	/*
	 * marker_probe_unregister_private_data() disconnects one pair of probe and data from one
	 * name only.
	 */
	EXPECT(marker_probe_unregister_private_data(empty_probe, &calls[0]) == -ENOENT);
	EXPECT(!marker_probe_unregister_private_data(increment_private, &calls[0]));
	EXPECT(marker_probe_unregister_private_data(increment_private, &calls[0]) == -ENOENT);
	subsys_event(1, "");
	EXPECT(calls[0] == 0 && calls[1] == 2);
	EXPECT(!marker_probe_unregister_private_data(increment_private, &calls[1]));
	EXPECT(!marker_probe_unregister_private_data(increment_private, &calls[1]));
	EXPECT(marker_probe_unregister_private_data(increment_private, &calls[1]) == -ENOENT);
	EXPECT(!marker_probe_unregister_private_data(empty_probe, &calls[2]));
	return NULL;
}

static bool is_test_marker(const struct marker *marker)
{
	return marker && !strcmp(marker->name, "test_2006");
}

const char *markers_iteration_finds_every_marker(void)
{
	unsigned int all = 0, ours = 0, lines = 0, listed;
	struct marker_iter iter;
	struct marker *first;

	marker_iter_reset(&iter);
	marker_iter_start(&iter);
	for (; iter.marker; marker_iter_next(&iter)) {
		all++;
		if (!is_test_marker(iter.marker))
			continue;
		ours += iter.module == THIS_MODULE;
		lines += !strcmp(iter.marker->func, "subsys_event") && iter.marker->line;
	}
	marker_iter_next(&iter);
	marker_iter_stop(&iter);
	EXPECT(!iter.marker && all > ours && ours == 3 && lines == 3);
	/*
	 * If the compiler has duplicated a marker, the iteration returns each copy, but
	 * marker_list_probe() counts the marker once.
	 */
	listed = marker_list_probe(NULL);
	EXPECT(listed > ours && listed <= all);

	/* Stop the iteration, change the probes, and continue the iteration. */
	marker_iter_reset(&iter);
	for (marker_iter_start(&iter); !is_test_marker(iter.marker); marker_iter_next(&iter))
		;
	first = iter.marker;
	marker_iter_stop(&iter);
	EXPECT(marker_set_probe("test_2006", SUBSYS_EVENT_FORMAT, probe_subsys_event) == 2);
	marker_iter_start(&iter);
	EXPECT(iter.marker == first);
	marker_iter_next(&iter);
	EXPECT(is_test_marker(iter.marker) && iter.marker != first);
	marker_iter_stop(&iter);
	marker_iter_stop(&iter);
	return NULL;
}

/* ---- unusual formats ---- */

#define TIMES_4(x)	x x x x
#define LONG_FORMAT	TIMES_4(TIMES_4(TIMES_4(TIMES_4("sixteen letters "))))

static int victim = 1;

static noinline void hit_hostile_markers(void)
{
	trace_mark(test_hostile_n, "%d %n", 1, &victim);
	MARK(test_hostile_s, "%s", (const char *)8);
	trace_mark(test_hostile_long, LONG_FORMAT);
	trace_mark(test_hostile_percent, "%%n %%s");
}

/*
 * Call @change with the name of each of the four markers test_hostile_*, and return the sum of the
 * results.
 */
static int change_four_hostile_markers(int (*change)(const char *name))
{
	return change("test_hostile_n") + change("test_hostile_s") + change("test_hostile_long") +
	       change("test_hostile_percent");
}

static int connect_variadic_probe(const char *name)
{
	return marker_set_probe(name, NULL, variadic_probe_without_args);
}

static int register_classic_probe(const char *name)
{
	return marker_probe_register(name, NULL, increment_private, &calls[0]);
}

static int unregister_classic_probe(const char *name)
{
	return marker_probe_unregister(name, increment_private, &calls[0]);
}

const char *markers_survive_hostile_formats(void)
{
	EXPECT(sizeof(LONG_FORMAT) > 4096);
	EXPECT(change_four_hostile_markers(connect_variadic_probe) == 4);
	EXPECT(change_four_hostile_markers(register_classic_probe) == 0);
	hit_hostile_markers();
	EXPECT(subsys_calls == 4 && calls[0] == 4 && victim == 1);
	EXPECT(marker_probe_register("test_hostile_long", LONG_FORMAT "x", empty_probe, NULL) ==
	       -EPERM);
	EXPECT(marker_probe_register("test_hostile_n", "%n", empty_probe, NULL) == -EPERM);
	EXPECT(change_four_hostile_markers(unregister_classic_probe) == 0);
	EXPECT(marker_remove_probe(variadic_probe_without_args) == 4);
	hit_hostile_markers();
	EXPECT(subsys_calls == 4 && calls[0] == 4);
	return NULL;
}
