// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of markers: connecting probes to many names at a time, iterating over markers,
 * disconnecting probes whose code is unloaded, and unregistering tables of markers.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <linux/kernel.h>
#include <linux/slab.h>

#include <kmarkers/marker.h>
#include <kmarkers/patcher.h>
#include <kmarkers/typed.h>

#include "../../markers/array.h"
#include "../../markers/connect.h"
#include "../../markers/list.h"
#include "../../markers/names.h"
#include "../../markers/tables.h"
#include "many.h"
#include "nomem.h"

DECLARE_MARKER(many_typed, MARKER_PROTO(int number), MARKER_ARGS(number), "number %d");
DEFINE_MARKER(many_typed);

#define FAR	1000

/* calls[i] is the number of calls of a probe with the private data &calls[i]. */
static unsigned int calls[5];

static void count_call(void *private, void *call_private, const char *fmt, va_list *args)
{
	++*(unsigned int *)private;
}

static void empty_probe(void *private, void *call_private, const char *fmt, va_list *args)
{
}

static void count_typed_call(void *private, int number)
{
	++*(unsigned int *)private;
}

static unsigned int calls_2006;

static void variadic_probe(const char *fmt, ...)
{
	calls_2006++;
}

static noinline void hit_markers(void)
{
	trace_mark_flavour(immediate, many_value, NULL, "%d", 1);
	trace_mark_flavour(jump, many_jump, NULL, "%d", 2);
	trace_mark_flavour(jump, many_jump, NULL, "%d", 2);
	trace_mark_flavour(immediate, many_formats, NULL, "%d", 3);
	trace_mark_flavour(immediate, many_formats, NULL, "%s", "three");
	mark_typed(many_typed, 4);
}

static struct marker_link links[] = {
	{ "many_value", count_call, &calls[0] },
	{ "many_jump", count_call, &calls[1] },
	{ "many_formats", count_call, &calls[2] },
	{ "many_typed", count_call, &calls[3] },
};

static int connect_probes_of_links(void)
{
	return marker_connect_probes(links, ARRAY_SIZE(links));
}

static void disconnect_probes_of_links(void)
{
	marker_disconnect_probes(links, ARRAY_SIZE(links));
	marker_synchronize_unregister();
}

/*
 * Hit all markers once.  Return true if the probe of each name was called the given number of
 * times.
 */
static bool hit_and_check_calls(unsigned int value, unsigned int jump, unsigned int formats,
				unsigned int typed)
{
	memset(calls, 0, sizeof(calls));
	hit_markers();
	return calls[0] == value && calls[1] == jump && calls[2] == formats && calls[3] == typed;
}

static void disconnect_all_probes(void)
{
	unsigned int i;

	test_disable_failing_allocations();
	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		marker_probe_unregister("many_value", count_call, &calls[i]);
		marker_probe_unregister("many_jump", count_call, &calls[i]);
		marker_probe_unregister("many_formats", count_call, &calls[i]);
		marker_probe_unregister("many_typed", count_call, &calls[i]);
		marker_unregister_many_typed(count_typed_call, &calls[i]);
	}
	marker_probe_unregister("many_value", empty_probe, NULL);
	marker_probe_unregister("many_later", count_call, NULL);
	marker_remove_probe(variadic_probe);
	marker_synchronize_unregister();
}

static const char *many_names_are_connected_at_once(void)
{
	EXPECT(hit_and_check_calls(0, 0, 0, 0));
	EXPECT(!connect_probes_of_links());
	/*
	 * Only one of the two markers named many_formats is connected, because their formats
	 * differ.
	 */
	EXPECT(hit_and_check_calls(1, 2, 1, 1));
	disconnect_probes_of_links();
	EXPECT(hit_and_check_calls(0, 0, 0, 0));
	/* Disconnecting links that are not connected has no effect. */
	disconnect_probes_of_links();
	marker_disconnect_probes(links, 0);
	EXPECT(!marker_connect_probes(links, 0));
	return NULL;
}

/*
 * Check that connecting several names takes one batch, and disconnecting the names another batch.
 */
static const char *many_names_take_one_batch(void)
{
	struct patcher_stats before, on, off;

	patcher_read_stats(&before);
	EXPECT(!marker_connect_probes(links, 2));
	patcher_read_stats(&on);
	EXPECT(hit_and_check_calls(1, 2, 0, 0));
	marker_disconnect_probes(links, 2);
	patcher_read_stats(&off);
	EXPECT(hit_and_check_calls(0, 0, 0, 0));
	EXPECT(on.batches == before.batches + 1 && on.rounds == before.rounds + 3);
	EXPECT(off.batches == on.batches + 1 && off.rounds == on.rounds + 3);
	return NULL;
}

/* Check that other probes of the same names stay connected when links are disconnected. */
static const char *many_names_keep_other_probes(void)
{
	EXPECT(!marker_probe_register("many_value", "%d", count_call, &calls[4]));
	EXPECT(!marker_register_many_typed(count_typed_call, &calls[3]));
	EXPECT(!connect_probes_of_links());
	EXPECT(hit_and_check_calls(1, 2, 1, 2) && calls[4] == 1);
	disconnect_probes_of_links();
	EXPECT(hit_and_check_calls(0, 0, 0, 1) && calls[4] == 1);
	return NULL;
}

/* Check that no link is connected if the last link cannot be connected. */
static const char *many_names_are_refused_with_a_wrong_link(void)
{
	struct marker_link bad[ARRAY_SIZE(links) + 1];

	memcpy(bad, links, sizeof(links));
	EXPECT(!marker_probe_register("many_value", "%d", empty_probe, NULL));
	bad[ARRAY_SIZE(links)] = (struct marker_link){ "many_nowhere", count_call, NULL };
	EXPECT(marker_connect_probes(bad, ARRAY_SIZE(bad)) == -ENOENT);
	EXPECT(hit_and_check_calls(0, 0, 0, 0));

	/* Try a name that has a probe but no marker. */
	EXPECT(!marker_probe_register("many_later", "%d", count_call, NULL));
	bad[ARRAY_SIZE(links)].name = "many_later";
	EXPECT(marker_connect_probes(bad, ARRAY_SIZE(bad)) == -ENOENT);
	EXPECT(hit_and_check_calls(0, 0, 0, 0));

	bad[ARRAY_SIZE(links)] = (struct marker_link){ "many_value", empty_probe, NULL };
	EXPECT(marker_connect_probes(bad, ARRAY_SIZE(bad)) == -EBUSY);
	EXPECT(hit_and_check_calls(0, 0, 0, 0));
	EXPECT(!connect_probes_of_links());
	EXPECT(hit_and_check_calls(1, 2, 1, 1));
	return NULL;
}

static const char *many_names_stay_off_without_memory(void)
{
	unsigned int nth;
	int err = -1;

	EXPECT(!test_enable_failing_allocations());
	EXPECT(!marker_probe_register("many_value", "%d", empty_probe, NULL));
	for (nth = 1; nth < FAR && err; nth++) {
		test_fail_nth_allocation(nth);
		err = connect_probes_of_links();
		EXPECT(test_has_allocation_failed() == !!err);
		test_disable_failing_allocations();
		EXPECT(!err || err == -ENOMEM);
		EXPECT(err ? hit_and_check_calls(0, 0, 0, 0) : hit_and_check_calls(1, 2, 1, 1));
	}
	EXPECT(nth > ARRAY_SIZE(links) && nth < FAR);
	return NULL;
}

/* Return the number of enabled markers among all markers that have the name of a link. */
static unsigned int count_enabled_markers(void)
{
	struct marker *marker;
	unsigned int i, on = 0;

	mutex_lock(&marker_registry.lock);
	for (i = 0; i < ARRAY_SIZE(links); i++)
		list_for_each_entry(marker, &marker_name_find(links[i].name)->markers, node)
			on += marker->state__imv;
	mutex_unlock(&marker_registry.lock);
	return on;
}

/*
 * Check that links are disconnected even if an allocation fails: no probe is called, and all
 * markers are off, although the markers could not be switched in one batch.
 */
static const char *many_names_are_disconnected_without_memory(void)
{
	bool failed = true;
	unsigned int nth;

	EXPECT(!test_enable_failing_allocations());
	for (nth = 1; nth < FAR && failed; nth++) {
		EXPECT(!connect_probes_of_links() && count_enabled_markers() == 5);
		test_fail_nth_allocation(nth);
		disconnect_probes_of_links();
		failed = test_has_allocation_failed();
		test_disable_failing_allocations();
		EXPECT(!count_enabled_markers() && hit_and_check_calls(0, 0, 0, 0));
	}
	EXPECT(nth > 2 && nth < FAR);
	return NULL;
}

static int visited;

static int count_visited(void *data, const struct marker *marker)
{
	visited += !strncmp(marker->name, data, strlen(data));
	return visited == 5;
}

static const char *markers_are_visited_until_stopped(void)
{
	visited = 0;
	EXPECT(!marker_visit("many_jump", NULL, count_visited, "many_jump") && visited == 2);
	EXPECT(!marker_visit("many_nowhere", NULL, count_visited, "") && visited == 2);
	/* Six markers match, but count_visited() ends the iteration when visited is 5. */
	EXPECT(marker_visit(NULL, NULL, count_visited, "many_") == 1 && visited == 5);
	visited = 4;
	EXPECT(marker_visit("many_jump", NULL, count_visited, "many_jump") == 1 && visited == 5);
	visited = -10;
	EXPECT(!marker_visit(NULL, NULL, count_visited, "many_") && visited == -4);
	return NULL;
}

#define EIGHT(first)							\
	first, (first) + 1, (first) + 2, (first) + 3,			\
	(first) + 4, (first) + 5, (first) + 6, (first) + 7
#define EIGHT_FORMAT	"%lu %lu %lu %lu %lu %lu %lu %lu "

static noinline void hit_markers_with_args(void)
{
	trace_mark(args_seven, "%lu %lu %lu %lu %lu %lu %lu", 1UL, 2UL, 3UL, 4UL, 5UL, 6UL, 7UL);
	trace_mark(args_eight, EIGHT_FORMAT, EIGHT(1UL));
	trace_mark(args_nine, EIGHT_FORMAT "%lu", EIGHT(1UL), 9UL);
	trace_mark(args_most, EIGHT_FORMAT EIGHT_FORMAT EIGHT_FORMAT EIGHT_FORMAT,
		   EIGHT(1UL), EIGHT(9UL), EIGHT(17UL), EIGHT(25UL));
}

static unsigned int seen_args;

/*
 * A probe of 2006.  Set seen_args to the number of arguments if their values are 1, 2, 3, ... and
 * the next parameter is 0.  After 8 or 32 arguments there is no further parameter.
 */
static void count_consecutive_args(const char *fmt, ...)
{
	unsigned long i, next = 0;
	va_list args;

	va_start(args, fmt);
	for (i = 0; (fmt = strchr(fmt, '%')); fmt++)
		if (va_arg(args, unsigned long) != ++i)
			break;
	if (i % 8)
		next = va_arg(args, unsigned long);
	va_end(args);
	seen_args = fmt || next ? 0 : i;
}

/* Check that a probe of 2006 gets all arguments, in their order. */
static const char *markers_2006_pass_every_argument(void)
{
	static const struct {
		const char *name;
		unsigned int nr;
	} args[] = {
		{ "args_seven", 7 }, { "args_eight", 8 }, { "args_nine", 9 }, { "args_most", 32 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(args); i++) {
		EXPECT(marker_set_probe(args[i].name, NULL, count_consecutive_args) == 1);
		seen_args = 0;
		hit_markers_with_args();
		EXPECT(seen_args == args[i].nr);
		EXPECT(marker_remove_probe(count_consecutive_args) == 1);
	}
	return NULL;
}

static void clean_up_args(void)
{
	marker_remove_probe(count_consecutive_args);
	marker_synchronize_unregister();
}

static bool is_code_of_probe(void *data, const char *name, unsigned long code)
{
	return code == (unsigned long)data;
}

/*
 * Check that probes whose code is unloaded are disconnected, and that other probes stay connected.
 */
static const char *markers_disconnect_unloaded_probes(void)
{
	EXPECT(!connect_probes_of_links());
	EXPECT(!marker_probe_register("many_value", NULL, empty_probe, NULL));
	EXPECT(!marker_probe_register("many_later", "%d", count_call, NULL));
	EXPECT(!marker_register_many_typed(count_typed_call, &calls[4]));
	EXPECT(hit_and_check_calls(1, 2, 1, 1) && calls[4] == 1);
	EXPECT(!marker_tables_disconnect_if(is_code_of_probe, NULL));
	EXPECT(marker_tables_disconnect_if(is_code_of_probe, count_call) == 5);
	EXPECT(hit_and_check_calls(0, 0, 0, 0) && calls[4] == 1);
	EXPECT(marker_probe_unregister("many_later", count_call, NULL) == -ENOENT);
	EXPECT(!marker_probe_unregister("many_value", empty_probe, NULL));

	EXPECT(!marker_register_many_typed(count_typed_call, &calls[3]));
	EXPECT(hit_and_check_calls(0, 0, 0, 1) && calls[4] == 1);
	EXPECT(marker_tables_disconnect_if(is_code_of_probe, count_typed_call) == 2);
	EXPECT(hit_and_check_calls(0, 0, 0, 0) && !calls[4]);

	/*
	 * Also check a probe with the prototype of 2006: a function of kmarkers calls this kind of
	 * probe.
	 */
	EXPECT(marker_set_probe("many_value", NULL, variadic_probe) == 1);
	calls_2006 = 0;
	hit_markers();
	EXPECT(calls_2006 == 1);
	EXPECT(marker_tables_disconnect_if(is_code_of_probe, variadic_probe) == 1);
	hit_markers();
	EXPECT(calls_2006 == 1);
	return NULL;
}

static unsigned int retries;

static void count_retry(void)
{
	retries++;
}

/*
 * Check that markers ask once for another attempt when the last probe, whose format was the reason
 * of a refusal, is disconnected, and that the other attempt succeeds.
 */
static const char *markers_ask_for_a_retry_after_a_refusal(void)
{
	retries = 0;
	marker_name_retry_refused = count_retry;
	EXPECT(!marker_probe_register("many_value", "%s", count_call, &calls[0]));
	EXPECT(!marker_probe_register("many_value", NULL, count_call, &calls[1]));
	EXPECT(!marker_probe_unregister("many_value", count_call, &calls[1]));
	EXPECT(marker_probe_register("many_value", "%d", count_call, &calls[2]) == -EPERM);
	EXPECT(marker_probe_register("many_value", "%d", count_call, &calls[2]) == -EPERM);
	EXPECT(!retries);
	EXPECT(!marker_probe_unregister("many_value", count_call, &calls[0]));
	EXPECT(retries == 1);
	EXPECT(!marker_probe_register("many_value", "%d", count_call, &calls[2]));
	EXPECT(!marker_probe_unregister("many_value", count_call, &calls[2]));
	EXPECT(retries == 1);
	return NULL;
}

static void clean_up_retries(void)
{
	marker_name_retry_refused = NULL;
	disconnect_all_probes();
}

/* Number of probes of one name: so many that removing the first probe does not copy the array. */
#define MANY	18

static unsigned int many_calls[MANY];

static bool is_given_name(void *data, const char *name, unsigned long code)
{
	return !strcmp(name, data);
}

/* Check that removed probes, whose elements remain in an array, are skipped and not counted. */
static const char *markers_skip_removed_probes_in_arrays(void)
{
	unsigned int i;

	for (i = 0; i < MANY; i++) {
		EXPECT(!marker_probe_register("many_value", "%d", count_call, &many_calls[i]));
		EXPECT(!marker_register_many_typed(count_typed_call, &many_calls[i]));
	}
	EXPECT(!marker_probe_unregister("many_value", count_call, &many_calls[0]));
	EXPECT(!marker_unregister_many_typed(count_typed_call, &many_calls[0]));
	memset(many_calls, 0, sizeof(many_calls));
	hit_markers();
	EXPECT(!many_calls[0]);
	for (i = 1; i < MANY; i++)
		EXPECT(many_calls[i] == 2);
	EXPECT(marker_tables_disconnect_if(is_given_name, "many_value") == MANY - 1);
	EXPECT(marker_tables_disconnect_if(is_given_name, "many_typed") == MANY - 1);
	hit_markers();
	for (i = 1; i < MANY; i++)
		EXPECT(many_calls[i] == 2);
	return NULL;
}

static void clean_up_many(void)
{
	unsigned int i;

	for (i = 0; i < MANY; i++) {
		marker_probe_unregister("many_value", count_call, &many_calls[i]);
		marker_unregister_many_typed(count_typed_call, &many_calls[i]);
	}
	marker_synchronize_unregister();
}

/* Markers each of which is in its own table, like the markers that are attached to functions. */
#define OWN	3

static struct marker own_markers[OWN] = {
	__MARKER_INIT(many_own, "%d", "first", MARKER_GENERIC, 1),
	__MARKER_INIT(many_own, "%d", "second", MARKER_GENERIC, 1),
	__MARKER_INIT(many_own, "%d", "third", MARKER_GENERIC, 1),
};

/* Read the state of the first own marker at a site, which is patched when the state changes. */
static noinline u8 read_own_state(void)
{
	u8 value;

	asm volatile(__IMV_SITE("movl $0, %k0", "1", "1", "0")
		     : "=r" (value) : "i" (&own_markers[0].state__imv));
	return value;
}

static s32 own_records[OWN];
static bool own_added[OWN];

static int add_own_table(unsigned int i, struct module *module)
{
	struct kmarkers_span span = {
		.first = &own_records[i], .end = &own_records[i + 1],
		.bytes = sizeof(own_records[i]),
	};

	own_records[i] = (long)&own_markers[i] - (long)&own_records[i];
	own_added[i] = !marker_tables_register_module(module, &span);
	return own_added[i] ? 0 : -1;
}

static void drop_own_table(unsigned int i)
{
	marker_tables_unregister_records(&own_records[i]);
	own_added[i] = false;
}

/* Return a mask of the own markers that call a probe if they are hit. */
static unsigned int find_calling_markers(void)
{
	unsigned int i, calling = 0;

	for (i = 0; i < OWN; i++) {
		calls[0] = 0;
		if (own_markers[i].state__imv)
			marker_call_probes(&own_markers[i], 1);
		calling |= calls[0] << i;
	}
	return calling;
}

static int count_own_marker(void *data, const struct marker *marker)
{
	++*(unsigned int *)data;
	return 0;
}

static unsigned int count_own_markers(void)
{
	unsigned int nr = 0;

	marker_visit("many_own", NULL, count_own_marker, &nr);
	return nr;
}

/* Check that a table is unregistered by its first record, and that other tables stay registered. */
static const char *markers_tables_are_dropped_by_first_record(void)
{
	unsigned int i;

	for (i = 0; i < OWN; i++)
		EXPECT(!add_own_table(i, NULL));
	EXPECT(!connect_probes_of_links());
	EXPECT(!marker_probe_register("many_own", "%d", count_call, &calls[0]));
	EXPECT(count_own_markers() == 3 && find_calling_markers() == 7);
	drop_own_table(1);
	EXPECT(count_own_markers() == 2 && find_calling_markers() == 5);
	EXPECT(hit_and_check_calls(1, 2, 1, 1));
	/* The table was dropped by the previous call, so this call has no effect. */
	drop_own_table(1);
	EXPECT(count_own_markers() == 2 && find_calling_markers() == 5);
	EXPECT(!add_own_table(1, NULL));
	EXPECT(count_own_markers() == 3 && find_calling_markers() == 7);
	for (i = 0; i < OWN; i++)
		drop_own_table(i);
	EXPECT(!count_own_markers() && !find_calling_markers());
	EXPECT(hit_and_check_calls(1, 2, 1, 1));
	return NULL;
}

/* Register a table in which two records refer to the first own marker. */
static int add_own_table_with_two_records(void)
{
	struct kmarkers_span span = {
		.first = own_records, .end = &own_records[2], .bytes = 2 * sizeof(own_records[0]),
	};
	unsigned int i;

	for (i = 0; i < 2; i++)
		own_records[i] = (long)&own_markers[0] - (long)&own_records[i];
	own_added[0] = !marker_tables_register_module(NULL, &span);
	return own_added[0] ? 0 : -1;
}

/*
 * Check that a marker with two records is added to its name, and is switched on, only once.  A
 * marker has several records if the compiler has duplicated the marker's code.
 */
static const char *markers_with_two_records_are_added_once(void)
{
	EXPECT(!add_own_table_with_two_records());
	EXPECT(!marker_probe_register("many_own", "%d", count_call, &calls[0]));
	EXPECT(read_own_state() && find_calling_markers() == 1);
	EXPECT(marker_tables_disconnect_if(is_given_name, "many_own") == 1 && !read_own_state());
	drop_own_table(0);
	/* The probe is registered before the table. */
	EXPECT(!marker_probe_register("many_own", "%d", count_call, &calls[0]));
	EXPECT(!add_own_table_with_two_records());
	EXPECT(count_own_markers() == 1 && read_own_state() && find_calling_markers() == 1);
	drop_own_table(0);
	EXPECT(!count_own_markers() && !read_own_state() && !find_calling_markers());
	return NULL;
}

#define TIMES	200

/* Connect and disconnect probes of each kind, and add and drop a table of markers, repeatedly. */
static int change_probes_repeatedly(void)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < TIMES && !err; i++) {
		err = marker_probe_register("many_value", "%d", count_call, &calls[0]) ?:
		      marker_probe_register("many_value", NULL, count_call, &calls[1]) ?:
		      marker_register_many_typed(count_typed_call, &calls[0]) ?:
		      marker_register_many_typed(count_typed_call, &calls[1]) ?:
		      marker_probe_register("many_own", "%d", count_call, &calls[0]) ?:
		      add_own_table(0, NULL);
		if (own_added[0])
			drop_own_table(0);
		disconnect_all_probes();
		marker_probe_unregister("many_own", count_call, &calls[0]);
	}
	return err;
}

/* Check that the memory for probes, names, formats and tables is freed. */
static const char *markers_free_memory_of_removed_probes(void)
{
	return check_memory_is_freed(change_probes_repeatedly);
}

/*
 * Check that adding a table has no effect if an allocation fails.  Check this also with a probe
 * that was registered for a marker's name before the marker exists.
 */
static const char *markers_tables_need_memory_to_be_added(void)
{
	bool failed = true;
	unsigned int nth;

	EXPECT(!test_enable_failing_allocations());
	EXPECT(!marker_probe_register("many_own", NULL, count_call, &calls[0]));
	for (nth = 1; nth < FAR && failed; nth++) {
		test_fail_nth_allocation(nth);
		add_own_table(0, NULL);
		failed = test_has_allocation_failed();
		test_disable_failing_allocations();
		EXPECT(own_added[0] == !failed);
		EXPECT(count_own_markers() == !failed && find_calling_markers() == !failed);
	}
	EXPECT(nth > 4 && nth < FAR);
	return NULL;
}

/*
 * Check that the sites of a table's markers are switched off when the table is unregistered, even
 * if an allocation fails, so that the sites cannot be switched in one batch.
 */
static const char *markers_tables_are_dropped_without_memory(void)
{
	bool failed = true;
	unsigned int nth;

	EXPECT(!test_enable_failing_allocations());
	EXPECT(!marker_probe_register("many_own", "%d", count_call, &calls[0]));
	for (nth = 1; nth < FAR && failed; nth++) {
		EXPECT(!add_own_table(0, NULL) && read_own_state());
		test_fail_nth_allocation(nth);
		drop_own_table(0);
		failed = test_has_allocation_failed();
		test_disable_failing_allocations();
		EXPECT(!count_own_markers() && !find_calling_markers() && !read_own_state());
	}
	EXPECT(nth > 2 && nth < FAR);
	return NULL;
}

/*
 * Check that the site of a marker is switched off when the last probe of its name is unregistered,
 * even if an allocation fails.
 */
static const char *marker_without_probe_is_off_without_memory(void)
{
	bool failed = true;
	unsigned int nth;

	EXPECT(!test_enable_failing_allocations());
	EXPECT(!add_own_table(0, NULL));
	for (nth = 1; nth < FAR && failed; nth++) {
		EXPECT(!marker_probe_register("many_own", "%d", count_call, &calls[0]));
		EXPECT(read_own_state());
		test_fail_nth_allocation(nth);
		marker_probe_unregister("many_own", count_call, &calls[0]);
		failed = test_has_allocation_failed();
		test_disable_failing_allocations();
		EXPECT(!read_own_state());
	}
	EXPECT(nth > 2 && nth < FAR);
	return NULL;
}

/* Invalid pointers, passed as the modules to which the own tables belong. */
#define FIRST	((struct module *)1)
#define SECOND	((struct module *)2)

/* Bit mask of the visited own markers; bit OWN is set if a marker had a wrong owner. */
static unsigned int ready;

static int collect_ready_marker(void *data, const struct marker *marker, struct module *owner)
{
	unsigned int i = marker - own_markers;

	ready |= 1 << (i < OWN && owner == (i < 2 ? FIRST : SECOND) ? i : OWN);
	return data == marker ? -EBUSY : 0;
}

/*
 * Visit the markers of a module that may become trace events, until the marker @last.  Return a
 * mask of the own markers that were visited.
 */
static unsigned int visit_ready_markers(struct module *module, struct marker *last)
{
	int err;

	ready = 0;
	err = marker_tables_visit_ready(module, collect_ready_marker, last);
	return err == (last ? -EBUSY : 0) ? ready : -1U;
}

struct found {
	const struct marker *marker;
	struct module *owner;
	bool is_locked;
};

static int store_ready_marker(void *data, const struct marker *marker, struct module *owner)
{
	bool is_locked = pthread_mutex_trylock(&marker_registry.lock.lock);

	if (!is_locked)
		pthread_mutex_unlock(&marker_registry.lock.lock);
	*(struct found *)data = (struct found){ marker, owner, is_locked };
	return -EBUSY;
}

/*
 * Find the first marker with the name @name and the format @format that may become a trace event.
 * Return true if it is own marker @i, is visited under the registry's lock, and would get the owner
 * @owner.  If @i is OWN, return true if there is no such marker.
 */
static bool is_first_ready_marker(unsigned int i, const char *name, const char *format,
				  struct module *owner)
{
	struct found found = { };
	int err = marker_tables_visit_first_ready(name, format, store_ready_marker, &found);

	if (i == OWN)
		return !err && !found.marker;
	return err == -EBUSY && found.marker == &own_markers[i] && found.owner == owner &&
	       found.is_locked;
}

/* Check that the markers of a module may become trace events when the module is ready. */
static const char *markers_of_ready_modules_are_visited(void)
{
	EXPECT(!add_own_table(0, FIRST) && !add_own_table(1, FIRST) && !add_own_table(2, SECOND));
	EXPECT(!visit_ready_markers(NULL, NULL) && !visit_ready_markers(FIRST, NULL));
	EXPECT(is_first_ready_marker(OWN, "many_own", NULL, NULL));
	EXPECT(marker_tables_set_ready(SECOND));
	EXPECT(!marker_tables_set_ready((struct module *)3));
	EXPECT(visit_ready_markers(NULL, NULL) == 4 && !visit_ready_markers(FIRST, NULL));
	EXPECT(is_first_ready_marker(2, "many_own", NULL, SECOND));
	EXPECT(marker_tables_set_ready(FIRST));
	EXPECT(visit_ready_markers(NULL, NULL) == 7 && visit_ready_markers(FIRST, NULL) == 3);
	EXPECT(visit_ready_markers(SECOND, NULL) == 4);
	EXPECT(visit_ready_markers(NULL, &own_markers[1]) == 3);
	EXPECT(is_first_ready_marker(0, "many_own", "%d", FIRST));
	EXPECT(is_first_ready_marker(OWN, "many_own", "%s", NULL));
	EXPECT(is_first_ready_marker(OWN, "many_nowhere", NULL, NULL));

	EXPECT(!marker_probe_register("many_own", "%d", count_call, &calls[0]));
	EXPECT(find_calling_markers() == 7);
	marker_tables_unregister_module(FIRST);
	EXPECT(count_own_markers() == 1 && find_calling_markers() == 4);
	EXPECT(visit_ready_markers(NULL, NULL) == 4 && !marker_tables_set_ready(FIRST));
	EXPECT(is_first_ready_marker(2, "many_own", NULL, SECOND));
	return NULL;
}

static void clean_up_own_tables(void)
{
	unsigned int i;

	for (i = 0; i < OWN; i++)
		if (own_added[i])
			drop_own_table(i);
	marker_probe_unregister("many_own", count_call, &calls[0]);
	disconnect_all_probes();
}

static void replacement_probe(void *private, void *call_private, const char *fmt, va_list *args)
{
}

/*
 * Remove the probe with the private data @private from @array.  Return true if the array was
 * replaced: by NULL if the probe was the last one, else by a copy without the probe.
 */
static bool remove_from_array(struct probe_array **array, void *private)
{
	struct probe_array *old;

	marker_array_remove_probe(array, marker_array_find_probe(*array, count_call, private),
				  replacement_probe, &old);
	kfree(old);
	return old;
}

/*
 * Check that removing a probe copies the array if the array has at most 16 probes, or if at least
 * half of its elements are removed probes.  In a copy, the probes have the same order as before,
 * without gaps.
 */
static const char *markers_arrays_are_copied_when_half_empty(void)
{
	struct probe_array *array = NULL, *old;
	char private[40];
	unsigned int i;

	for (i = 0; i < 40; i++) {
		EXPECT(!marker_array_add_probe(&array, count_call, &private[i], replacement_probe,
					       &old));
		kfree(old);
	}
	EXPECT(array->nr == 40 && array->live == 40);
	for (i = 0; i < 20; i++) {
		EXPECT(!remove_from_array(&array, &private[2 * i]));
		EXPECT(array->nr == 40 && array->live == 39 - i);
		EXPECT(array->probe[2 * i].func == replacement_probe);
		EXPECT(marker_array_find_probe(array, count_call, &private[2 * i]) == -ENOENT);
	}
	/* Half of the elements are removed probes, so the next removal copies the array. */
	EXPECT(remove_from_array(&array, &private[1]) && array->nr == 19 && array->live == 19);
	/* An array of more than 16 probes is not copied when a probe is removed. */
	for (i = 1; i < 4; i++)
		EXPECT(!remove_from_array(&array, &private[2 * i + 1]) && array->nr == 19);
	EXPECT(array->live == 16);
	for (i = 4; i < 19; i++) {
		EXPECT(remove_from_array(&array, &private[2 * i + 1]));
		EXPECT(array->nr == 19 - i && array->live == 19 - i);
		EXPECT(array->probe[0].private == &private[2 * i + 3]);
		EXPECT(array->probe[18 - i].private == &private[39]);
		EXPECT(!array->probe[19 - i].func);
	}
	EXPECT(remove_from_array(&array, &private[39]) && !array);
	return NULL;
}

/* Add probe number @nr to an array, and free the old array if a copy replaces it. */
static int add_to_array(struct probe_array **array, unsigned int nr)
{
	struct probe_array *old;
	int err = marker_array_add_probe(array, count_call, (void *)(nr + 1UL), empty_probe, &old);

	kfree(old);
	return err;
}

/*
 * Check the capacities of arrays.  A full array is replaced by an array that has room for twice as
 * many probes as are left.  If a probe is removed from a small array, the new array has room for
 * twice as many probes as the old array had, rounded up to a power of two.
 */
static const char *markers_arrays_grow_to_twice_their_probes(void)
{
	static const unsigned int grown[] = { 2, 2, 4, 4, 8, 8, 8, 8, 16, 16 };
	static const unsigned int shrunk[] = { 32, 32, 16, 16, 16, 16, 8, 8, 4 };
	struct probe_array *array = NULL, *old;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(grown); i++) {
		EXPECT(!add_to_array(&array, i));
		EXPECT(array->live == i + 1 && array->capacity == grown[i]);
	}
	for (i = 0; i < ARRAY_SIZE(shrunk); i++) {
		marker_array_remove_probe(&array, 0, empty_probe, &old);
		EXPECT(old && old != array);
		kfree(old);
		EXPECT(array->live == 9 - i && array->capacity == shrunk[i]);
	}
	marker_array_remove_probe(&array, 0, empty_probe, &old);
	EXPECT(!array && old);
	kfree(old);
	return NULL;
}

const struct test_case many_cases[] = {
	{ "many_names_are_connected_at_once", many_names_are_connected_at_once,
	  disconnect_all_probes },
	{ "many_names_take_one_batch", many_names_take_one_batch, disconnect_all_probes },
	{ "many_names_keep_other_probes", many_names_keep_other_probes, disconnect_all_probes },
	{ "many_names_are_refused_with_a_wrong_link", many_names_are_refused_with_a_wrong_link,
	  disconnect_all_probes },
	{ "many_names_stay_off_without_memory", many_names_stay_off_without_memory,
	  disconnect_all_probes },
	{ "many_names_are_disconnected_without_memory", many_names_are_disconnected_without_memory,
	  disconnect_all_probes },
	{ "markers_are_visited_until_stopped", markers_are_visited_until_stopped,
	  disconnect_all_probes },
	{ "markers_2006_pass_every_argument", markers_2006_pass_every_argument, clean_up_args },
	{ "markers_disconnect_unloaded_probes", markers_disconnect_unloaded_probes,
	  disconnect_all_probes },
	{ "markers_ask_for_a_retry_after_a_refusal", markers_ask_for_a_retry_after_a_refusal,
	  clean_up_retries },
	{ "markers_skip_removed_probes_in_arrays", markers_skip_removed_probes_in_arrays,
	  clean_up_many },
	{ "markers_arrays_are_copied_when_half_empty", markers_arrays_are_copied_when_half_empty,
	  NULL },
	{ "markers_arrays_grow_to_twice_their_probes", markers_arrays_grow_to_twice_their_probes,
	  NULL },
	{ "markers_with_two_records_are_added_once", markers_with_two_records_are_added_once,
	  clean_up_own_tables },
	{ "markers_free_memory_of_removed_probes", markers_free_memory_of_removed_probes,
	  clean_up_own_tables },
	{ "markers_tables_need_memory_to_be_added", markers_tables_need_memory_to_be_added,
	  clean_up_own_tables },
	{ "markers_tables_are_dropped_without_memory", markers_tables_are_dropped_without_memory,
	  clean_up_own_tables },
	{ "markers_of_ready_modules_are_visited", markers_of_ready_modules_are_visited,
	  clean_up_own_tables },
	{ "markers_tables_are_dropped_by_first_record", markers_tables_are_dropped_by_first_record,
	  clean_up_own_tables },
	{ "marker_without_probe_is_off_without_memory", marker_without_probe_is_off_without_memory,
	  clean_up_own_tables },
};

const unsigned int many_nr_cases = ARRAY_SIZE(many_cases);
