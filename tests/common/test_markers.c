// SPDX-License-Identifier: GPL-2.0-only
/* Tests of markers and their probes, through the public interface. */
#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/processor.h>
#include <linux/string.h>

#include <linux/marker.h>

#include "cases.h"

/* Private data of a registered probe: number of its calls, and arguments of the last call. */
struct record {
	unsigned long calls;
	int number;
	const char *text;
	const char *format;
};

static struct record records[3];

static void record_args(void *private, void *call_private, const char *fmt, va_list *args)
{
	struct record *record = private;

	record->calls++;
	record->format = fmt;
	record->number = va_arg(*args, int);
	record->text = va_arg(*args, const char *);
}

/* Add the first argument to record->number.  Store @call_private in record->text if not NULL. */
static void add_first_argument(void *private, void *call_private, const char *fmt, va_list *args)
{
	struct record *record = private;

	record->calls++;
	record->number += va_arg(*args, int);
	if (call_private)
		record->text = call_private;
}

static void count_call(void *private, void *call_private, const char *fmt, va_list *args)
{
	((struct record *)private)->calls++;
}

static int evaluated;

/* Return @value, and count the evaluations of a marker's arguments. */
static int count_evaluation(int value)
{
	evaluated++;
	return value;
}

static noinline void hit_test_mark_twice(int number, const char *text)
{
	trace_mark(test_mark, "%d %s", count_evaluation(number), text);
	_trace_mark(test_mark, "%d %s", count_evaluation(number), text);
}

static noinline void hit_marker_noargs(void)
{
	MARK(test_noargs, MARK_NOARGS);
}

static noinline void hit_formats(void)
{
	trace_mark(test_format, "%d %s", 1, "one");
	trace_mark(test_format, "%ld %s", 1L, "one");
}

static noinline void hit_markers_of_each_flavour(void)
{
	trace_mark_flavour(generic, test_flavour, NULL, "%d %s", count_evaluation(1), "");
	trace_mark_flavour(immediate, test_flavour, NULL, "%d %s", count_evaluation(2), "");
	trace_mark_flavour(jump, test_flavour, NULL, "%d %s", count_evaluation(3), "");
	trace_mark_flavour(cmp_flip, test_flavour, NULL, "%d %s", count_evaluation(4), "");
	trace_mark_flavour(xor_flip, test_flavour, &records[2], "%d %s", count_evaluation(5), "");
}

void markers_cleanup(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(records); i++) {
		marker_probe_unregister("test_mark", record_args, &records[i]);
		marker_probe_unregister("test_format", record_args, &records[i]);
		marker_probe_unregister("test_flavour", add_first_argument, &records[i]);
		marker_probe_unregister("test_noargs", count_call, &records[i]);
		marker_probe_unregister("test_nowhere", record_args, &records[i]);
	}
	marker_synchronize_unregister();
	memset(records, 0, sizeof(records));
	evaluated = 0;
}

const char *markers_call_probes(void)
{
	static const char text[] = "abc";

	EXPECT(!marker_probe_register("test_mark", "%d %s", record_args, &records[0]));
	hit_test_mark_twice(42, text);
	EXPECT(records[0].calls == 2);
	EXPECT(records[0].number == 42 && records[0].text == text);
	EXPECT(!strcmp(records[0].format, "%d %s"));

	/* Register a second probe: both probes are called, each with its own private data. */
	EXPECT(!marker_probe_register("test_mark", NULL, record_args, &records[1]));
	hit_test_mark_twice(43, text);
	EXPECT(records[0].calls == 4 && records[1].calls == 2);
	EXPECT(records[0].number == 43 && records[1].number == 43);
	EXPECT(evaluated == 4);

	/* Unregister the first probe: the second probe is still called. */
	EXPECT(!marker_probe_unregister("test_mark", record_args, &records[0]));
	hit_test_mark_twice(44, text);
	EXPECT(records[0].calls == 4 && records[1].calls == 4);

	EXPECT(!marker_probe_register("test_noargs", MARK_NOARGS, count_call, &records[2]));
	hit_marker_noargs();
	EXPECT(records[2].calls == 1);
	return NULL;
}

const char *markers_evaluate_nothing_while_off(void)
{
	hit_test_mark_twice(1, "");
	EXPECT(evaluated == 0);
	EXPECT(!marker_probe_register("test_mark", "%d %s", record_args, &records[0]));
	hit_test_mark_twice(1, "");
	EXPECT(evaluated == 2);
	EXPECT(!marker_probe_unregister("test_mark", record_args, &records[0]));
	hit_test_mark_twice(1, "");
	EXPECT(evaluated == 2 && records[0].calls == 2);
	return NULL;
}

const char *markers_of_every_flavour_call_probes(void)
{
	hit_markers_of_each_flavour();
	EXPECT(evaluated == 0);
	EXPECT(!marker_probe_register("test_flavour", "%d %s", add_first_argument, &records[0]));
	hit_markers_of_each_flavour();
	EXPECT(evaluated == 5 && records[0].calls == 5 && records[0].number == 15);
	EXPECT(records[0].text == (void *)&records[2]);
	EXPECT(!marker_probe_unregister("test_flavour", add_first_argument, &records[0]));
	hit_markers_of_each_flavour();
	EXPECT(evaluated == 5 && records[0].calls == 5);
	return NULL;
}

const char *markers_report_errors(void)
{
	EXPECT(marker_probe_register(NULL, NULL, record_args, NULL) == -EINVAL);
	EXPECT(marker_probe_register("", NULL, record_args, NULL) == -EINVAL);
	EXPECT(marker_probe_register("test_mark", NULL, NULL, NULL) == -EINVAL);
	EXPECT(marker_probe_unregister("test_mark", record_args, &records[0]) == -ENOENT);
	EXPECT(marker_probe_unregister(NULL, record_args, &records[0]) == -ENOENT);

	/* Register a probe for a name that no marker has. */
	EXPECT(!marker_probe_register("test_nowhere", "%d %s", record_args, &records[0]));
	EXPECT(marker_probe_register("test_nowhere", "%d %s", record_args, &records[0]) == -EBUSY);
	EXPECT(marker_probe_register("test_nowhere", "%d", record_args, &records[1]) == -EPERM);
	EXPECT(marker_probe_unregister("test_nowhere", record_args, &records[1]) == -ENOENT);
	EXPECT(!marker_probe_unregister("test_nowhere", record_args, &records[0]));
	EXPECT(marker_probe_unregister("test_nowhere", record_args, &records[0]) == -ENOENT);
	return NULL;
}

const char *markers_formats(void)
{
	EXPECT(!marker_probe_register("test_format", "%d %s", record_args, &records[0]));
	hit_formats();
	EXPECT(records[0].calls == 1);
	EXPECT(!marker_probe_unregister("test_format", record_args, &records[0]));

	/* A probe may set another format while no other probe is registered for the name. */
	EXPECT(!marker_probe_register("test_format", "%ld %s", record_args, &records[1]));
	EXPECT(marker_probe_register("test_format", "%d %s", record_args, &records[0]) == -EPERM);
	hit_formats();
	EXPECT(records[0].calls == 1 && records[1].calls == 1);
	return NULL;
}

/*
 * Number of calls in which the probe check_tag_is_a() or check_tag_is_b() got the private data of
 * the other probe or a wrong argument.  These two probes are connected alternately while every CPU
 * executes the marker.
 */
static unsigned long mixed;
static char tag_a, tag_b;

static void check_tag_is_a(void *private, void *call_private, const char *fmt, va_list *args)
{
	if (private != &tag_a || va_arg(*args, int) != 7)
		WRITE_ONCE(mixed, mixed + 1);
}

static void check_tag_is_b(void *private, void *call_private, const char *fmt, va_list *args)
{
	if (private != &tag_b || va_arg(*args, int) != 7)
		WRITE_ONCE(mixed, mixed + 1);
}

static void hit_storm_markers(void)
{
	trace_mark(test_storm, "%d", 7);
	_trace_mark(test_storm, "%d", 7);
}

const char *markers_storm(void)
{
	unsigned int i;
	int err = 0;

	mixed = 0;
	EXPECT(!test_start_threads(hit_storm_markers));
	for (i = 0; i < test_batches / 20 && !err; i++) {
		err = marker_probe_register("test_storm", "%d", check_tag_is_a, &tag_a) ?:
		      marker_probe_unregister("test_storm", check_tag_is_a, &tag_a) ?:
		      marker_probe_register("test_storm", "%d", check_tag_is_b, &tag_b) ?:
		      marker_probe_unregister("test_storm", check_tag_is_b, &tag_b);
	}
	EXPECT(test_stop_threads());
	EXPECT(!err);
	EXPECT(!mixed);
	return NULL;
}

/*
 * Number of calls of a slow probe, which stays connected while another probe is connected and
 * disconnected.  While the slow probe runs, the marker's array of probes may be replaced; the hit
 * continues to use the old array.
 */
static atomic_long_t lingered;

static void delay_and_count_call(void *private, void *call_private, const char *fmt, va_list *args)
{
	unsigned int i;

	for (i = 0; i < 100; i++)
		cpu_relax();
	atomic_long_inc(&lingered);
}

static void wait_for_slow_probe(void)
{
	long before = atomic_long_read(&lingered);
	unsigned int i;

	for (i = 0; i < 10000 && atomic_long_read(&lingered) == before; i++)
		cpu_relax();
}

static int register_probe_for_a_while(void)
{
	int err = marker_probe_register("test_storm", "%d", check_tag_is_b, &tag_b);

	wait_for_slow_probe();
	return err ?: marker_probe_unregister("test_storm", check_tag_is_b, &tag_b);
}

const char *markers_storm_of_pairs(void)
{
	unsigned int i;
	int err;

	mixed = 0;
	err = marker_probe_register("test_storm", "%d", delay_and_count_call, NULL);
	EXPECT(!err);
	EXPECT(!test_start_threads(hit_storm_markers));
	/* Make few changes, because each change waits twice for the slow probe. */
	for (i = 0; i < test_batches / 200 + 5 && !err; i++) {
		err = register_probe_for_a_while();
		wait_for_slow_probe();
	}
	EXPECT(test_stop_threads());
	EXPECT(!marker_probe_unregister("test_storm", delay_and_count_call, NULL));
	EXPECT(!err);
	EXPECT(!mixed);
	return NULL;
}
