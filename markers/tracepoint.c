// SPDX-License-Identifier: GPL-2.0-only
/*
 * Markers in callbacks of tracepoints, as in 2.6.28: the tracepoint calls one
 * while its marker has probes.
 */
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/tracepoint.h>

#include "names.h"
#include "tracepoint.h"

/* Markers whose callbacks are connected. */
static LIST_HEAD(connected);

static struct marker_tp *tp_of(struct marker *marker)
{
	return container_of(marker, struct marker_tp, marker);
}

/* A tracepoint takes a callback once: it is there for all markers in it. */
static bool has_company(const struct marker_tp *tp)
{
	const struct marker_tp *other;

	lockdep_assert_held(&marker_registry.lock);
	list_for_each_entry(other, &connected, node)
		if (other != tp && other->tracepoint == tp->tracepoint &&
		    other->callback == tp->callback)
			return true;
	return false;
}

static int connect(struct marker_tp *tp)
{
	int err = has_company(tp) ? 0 :
		  tracepoint_probe_register_may_exist(tp->tracepoint, tp->callback, NULL);

	if (!err)
		list_add(&tp->node, &connected);
	else
		pr_warn("%s in %s(): %ps cannot be connected to the tracepoint %s%s: error %d\n",
			tp->marker.name, tp->marker.func, tp->callback, tp->tracepoint->name,
			err == -EEXIST ? ", where it is already" : "", err);
	return err;
}

static void disconnect(struct marker_tp *tp)
{
	list_del(&tp->node);
	tp->node.next = NULL;
	if (!has_company(tp))
		tracepoint_probe_unregister(tp->tracepoint, tp->callback, NULL);
}

/**
 * marker_tracepoint_switch() - connect a callback to its tracepoint, or disconnect it
 * @marker: a marker in the callback
 * @on: connect it?
 *
 * It stays connected while another marker in it is.  One that is not ready yet is
 * connected by marker_tracepoints_connect().
 *
 * Context: may sleep.
 * Return: 0; -EEXIST if somebody else has connected it; or what the tracepoint returns.
 */
int marker_tracepoint_switch(struct marker *marker, bool on)
{
	struct marker_tp *tp = tp_of(marker);

	lockdep_assert_held(&marker_registry.lock);
	if (!!tp->node.next == on || !tp->ready)
		return 0;
	if (on)
		return connect(tp);
	disconnect(tp);
	return 0;
}

static int make_ready(struct marker *marker)
{
	if (marker->flavour != MARKER_TRACEPOINT)
		return 0;
	tp_of(marker)->ready = true;
	return marker->probes ? marker_tracepoint_switch(marker, true) : 0;
}

/**
 * marker_tracepoints_connect() - connect the callbacks of a module whose markers have probes
 * @module: the module being loaded
 *
 * From now on its callbacks run: what is done to text that has not run, to jump
 * labels and to tracepoints of the module, has been done.
 *
 * Context: may sleep.
 * Return: 0, or what a tracepoint returns.
 */
int marker_tracepoints_connect(struct module *module)
{
	struct marker_table *table;
	unsigned int i;
	int err = 0;

	mutex_lock(&marker_registry.lock);
	list_for_each_entry(table, &marker_registry.tables, node)
		for (i = 0; table->module == module && i < table->nr && !err; i++)
			err = make_ready(record_marker(&table->records[i]));
	mutex_unlock(&marker_registry.lock);
	return err;
}

/* May its callback have been called?  It is not any more. */
static bool drop(struct marker *marker)
{
	if (marker->flavour != MARKER_TRACEPOINT || !tp_of(marker)->ready)
		return false;
	marker_tracepoint_switch(marker, false);
	return true;
}

/**
 * marker_tracepoints_drop() - see that no tracepoint calls a module that leaves
 * @table: its markers
 *
 * A callback that was disconnected before may still run: in newer kernels a task
 * can be preempted there, and nobody else waits for it.
 *
 * Context: may sleep; on return no callback runs any more.
 */
void marker_tracepoints_drop(struct marker_table *table)
{
	bool called = false;
	unsigned int i;

	for (i = 0; i < table->nr; i++)
		called |= drop(record_marker(&table->records[i]));
	if (called)
		tracepoint_synchronize_unregister();
}
