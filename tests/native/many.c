// SPDX-License-Identifier: GPL-2.0-only
/* Probes of many names at a time, walks over markers, and probes whose code is unloaded. */
#include <errno.h>
#include <string.h>

#include <linux/kernel.h>

#include <kmarkers/marker.h>
#include <kmarkers/patcher.h>
#include <kmarkers/typed.h>

#include "../../markers/connect.h"
#include "../../markers/look.h"
#include "../../markers/tables.h"
#include "many.h"

DECLARE_MARKER(many_typed, MARKER_PROTO(int number), MARKER_ARGS(number), "number %d");
DEFINE_MARKER(many_typed);

#define FAR	1000

/* Numbers of calls: calls[i] counts the calls of the probe with data &calls[i]. */
static unsigned int calls[5];

static void probe(void *private, void *call_private, const char *fmt, va_list *args)
{
	++*(unsigned int *)private;
}

static void probe_other(void *private, void *call_private, const char *fmt, va_list *args)
{
}

static void probe_typed(void *private, int number)
{
	++*(unsigned int *)private;
}

static unsigned int calls_2006;

static void probe_2006(const char *fmt, ...)
{
	calls_2006++;
}

static noinline void hit(void)
{
	trace_mark_flavour(immediate, many_value, NULL, "%d", 1);
	trace_mark_flavour(jump, many_jump, NULL, "%d", 2);
	trace_mark_flavour(jump, many_jump, NULL, "%d", 2);
	trace_mark_flavour(immediate, many_formats, NULL, "%d", 3);
	trace_mark_flavour(immediate, many_formats, NULL, "%s", "three");
	mark_typed(many_typed, 4);
}

static struct marker_link links[] = {
	{ "many_value", probe, &calls[0] },
	{ "many_jump", probe, &calls[1] },
	{ "many_formats", probe, &calls[2] },
	{ "many_typed", probe, &calls[3] },
};

static int connect(void)
{
	return marker_connect_many(links, ARRAY_SIZE(links));
}

static void disconnect(void)
{
	marker_disconnect_many(links, ARRAY_SIZE(links));
	marker_synchronize_unregister();
}

/* Execute all markers once.  Return whether each name called its probe that many times. */
static bool called(unsigned int value, unsigned int jump, unsigned int formats,
		   unsigned int typed)
{
	memset(calls, 0, sizeof(calls));
	hit();
	return calls[0] == value && calls[1] == jump && calls[2] == formats && calls[3] == typed;
}

static void forget(void)
{
	unsigned int i;

	test_stop_failing();
	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		marker_probe_unregister("many_value", probe, &calls[i]);
		marker_probe_unregister("many_jump", probe, &calls[i]);
		marker_probe_unregister("many_formats", probe, &calls[i]);
		marker_probe_unregister("many_typed", probe, &calls[i]);
		marker_unregister_many_typed(probe_typed, &calls[i]);
	}
	marker_probe_unregister("many_value", probe_other, NULL);
	marker_probe_unregister("many_later", probe, NULL);
	marker_remove_probe(probe_2006);
	marker_synchronize_unregister();
}

static const char *connects(void)
{
	EXPECT(called(0, 0, 0, 0));
	EXPECT(!connect());
	/* Two markers of many_formats differ in format.  The name has the first format. */
	EXPECT(called(1, 2, 1, 1));
	disconnect();
	EXPECT(called(0, 0, 0, 0));
	/* Disconnecting links that are not connected is no error. */
	disconnect();
	marker_disconnect_many(links, 0);
	EXPECT(!marker_connect_many(links, 0));
	return NULL;
}

/* Connecting several names takes one batch, and so does disconnecting them. */
static const char *in_one_batch(void)
{
	struct patcher_stats before, on, off;

	patcher_read_stats(&before);
	EXPECT(!marker_connect_many(links, 2));
	patcher_read_stats(&on);
	EXPECT(called(1, 2, 0, 0));
	marker_disconnect_many(links, 2);
	patcher_read_stats(&off);
	EXPECT(called(0, 0, 0, 0));
	EXPECT(on.batches == before.batches + 1 && on.rounds == before.rounds + 3);
	EXPECT(off.batches == on.batches + 1 && off.rounds == on.rounds + 3);
	return NULL;
}

/* A probe that a name has already stays connected. */
static const char *joins_others(void)
{
	EXPECT(!marker_probe_register("many_value", "%d", probe, &calls[4]));
	EXPECT(!marker_register_many_typed(probe_typed, &calls[3]));
	EXPECT(!connect());
	EXPECT(called(1, 2, 1, 2) && calls[4] == 1);
	disconnect();
	EXPECT(called(0, 0, 0, 1) && calls[4] == 1);
	return NULL;
}

/* If the last link is wrong, none of the links is connected. */
static const char *refuses(void)
{
	struct marker_link bad[ARRAY_SIZE(links) + 1];

	memcpy(bad, links, sizeof(links));
	EXPECT(!marker_probe_register("many_value", "%d", probe_other, NULL));
	bad[ARRAY_SIZE(links)] = (struct marker_link){ "many_nowhere", probe, NULL };
	EXPECT(marker_connect_many(bad, ARRAY_SIZE(bad)) == -ENOENT);
	EXPECT(called(0, 0, 0, 0));

	/* A name that has a probe and no markers. */
	EXPECT(!marker_probe_register("many_later", "%d", probe, NULL));
	bad[ARRAY_SIZE(links)].name = "many_later";
	EXPECT(marker_connect_many(bad, ARRAY_SIZE(bad)) == -ENOENT);
	EXPECT(called(0, 0, 0, 0));

	bad[ARRAY_SIZE(links)] = (struct marker_link){ "many_value", probe_other, NULL };
	EXPECT(marker_connect_many(bad, ARRAY_SIZE(bad)) == -EBUSY);
	EXPECT(called(0, 0, 0, 0));
	EXPECT(!connect());
	EXPECT(called(1, 2, 1, 1));
	return NULL;
}

static const char *without_memory(void)
{
	unsigned int nth;
	int err = -1;

	EXPECT(!test_fail_allocations());
	EXPECT(!marker_probe_register("many_value", "%d", probe_other, NULL));
	for (nth = 1; nth < FAR && err; nth++) {
		test_fail_at(nth);
		err = connect();
		EXPECT(test_has_failed() == !!err);
		test_stop_failing();
		EXPECT(!err || err == -ENOMEM);
		EXPECT(err ? called(0, 0, 0, 0) : called(1, 2, 1, 1));
	}
	EXPECT(nth > ARRAY_SIZE(links) && nth < FAR);
	return NULL;
}

/* Without memory, no probe is called after disconnecting.  Some sites may stay on. */
static const char *disconnects_without_memory(void)
{
	bool failed = true;
	unsigned int nth;

	EXPECT(!test_fail_allocations());
	for (nth = 1; nth < FAR && failed; nth++) {
		EXPECT(!connect());
		test_fail_at(nth);
		disconnect();
		failed = test_has_failed();
		test_stop_failing();
		EXPECT(called(0, 0, 0, 0));
	}
	EXPECT(nth > 2 && nth < FAR);
	return NULL;
}

static int visited;

static int visit(void *data, const struct marker *marker)
{
	visited += !strncmp(marker->name, data, strlen(data));
	return visited == 5;
}

static const char *walks(void)
{
	visited = 0;
	EXPECT(!marker_visit("many_jump", NULL, visit, "many_jump") && visited == 2);
	EXPECT(!marker_visit("many_nowhere", NULL, visit, "") && visited == 2);
	/* Six markers here match.  The walk ends at the third, where visit() returns 1. */
	EXPECT(marker_visit(NULL, NULL, visit, "many_") == 1 && visited == 5);
	visited = 4;
	EXPECT(marker_visit("many_jump", NULL, visit, "many_jump") == 1 && visited == 5);
	visited = -10;
	EXPECT(!marker_visit(NULL, NULL, visit, "many_") && visited == -4);
	return NULL;
}

static bool gone(void *data, const char *name, unsigned long code)
{
	return code == (unsigned long)data;
}

/* Probes whose code is unloaded are disconnected.  The others stay connected. */
static const char *probes_leave(void)
{
	EXPECT(!connect());
	EXPECT(!marker_probe_register("many_value", NULL, probe_other, NULL));
	EXPECT(!marker_probe_register("many_later", "%d", probe, NULL));
	EXPECT(!marker_register_many_typed(probe_typed, &calls[4]));
	EXPECT(called(1, 2, 1, 1) && calls[4] == 1);
	EXPECT(!marker_tables_disconnect(gone, NULL));
	EXPECT(marker_tables_disconnect(gone, probe) == 5);
	EXPECT(called(0, 0, 0, 0) && calls[4] == 1);
	EXPECT(marker_probe_unregister("many_later", probe, NULL) == -ENOENT);
	EXPECT(!marker_probe_unregister("many_value", probe_other, NULL));

	EXPECT(!marker_register_many_typed(probe_typed, &calls[3]));
	EXPECT(called(0, 0, 0, 1) && calls[4] == 1);
	EXPECT(marker_tables_disconnect(gone, probe_typed) == 2);
	EXPECT(called(0, 0, 0, 0) && !calls[4]);

	/* A probe of 2006, which markers call through a function of kmarkers. */
	EXPECT(marker_set_probe("many_value", NULL, probe_2006) == 1);
	calls_2006 = 0;
	hit();
	EXPECT(calls_2006 == 1);
	EXPECT(marker_tables_disconnect(gone, probe_2006) == 1);
	hit();
	EXPECT(calls_2006 == 1);
	return NULL;
}

const struct test_case many_cases[] = {
	{ "many_names_connected", connects, forget },
	{ "many_names_in_one_batch", in_one_batch, forget },
	{ "many_names_join_others", joins_others, forget },
	{ "many_names_refused", refuses, forget },
	{ "many_names_without_memory", without_memory, forget },
	{ "many_names_disconnected_without_memory", disconnects_without_memory, forget },
	{ "markers_walk", walks, forget },
	{ "markers_probes_leave", probes_leave, forget },
};

const unsigned int many_nr_cases = ARRAY_SIZE(many_cases);
