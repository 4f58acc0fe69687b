// SPDX-License-Identifier: GPL-2.0-only
/*
 * Markers in callbacks of tracepoints, as in 2.6.28: the tracepoint calls one
 * while its marker has probes.
 */
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/tracepoint.h>

#include "internal.h"
#include "registry.h"

static struct marker_tp *tp_of(struct marker *marker)
{
	return container_of(marker, struct marker_tp, marker);
}

/**
 * tracepoint_switch() - connect a callback to its tracepoint, or disconnect it
 * @marker: the marker in the callback
 * @on: connect it?
 *
 * One that is not ready yet is connected by tracepoints_connect().
 *
 * Context: may sleep; the registry's lock is held.
 * Return: 0, or what the tracepoint returns.
 */
int tracepoint_switch(struct marker *marker, bool on)
{
	struct marker_tp *tp = tp_of(marker);
	int err;

	if (tp->connected == on || !tp->ready)
		return 0;
	err = on ? tracepoint_probe_register(tp->tracepoint, tp->callback, NULL) :
		   tracepoint_probe_unregister(tp->tracepoint, tp->callback, NULL);
	if (!err)
		tp->connected = on;
	return err;
}

static int make_ready(struct marker *marker)
{
	if (marker->flavour != MARKER_TRACEPOINT)
		return 0;
	tp_of(marker)->ready = true;
	return marker->probes ? tracepoint_switch(marker, true) : 0;
}

/**
 * tracepoints_connect() - connect the callbacks of a module whose markers have probes
 * @module: the module being loaded
 *
 * From now on its callbacks run: what is done to text that has not run, to jump
 * labels and to tracepoints of the module, has been done.
 *
 * Context: may sleep.
 * Return: 0, or what a tracepoint returns.
 */
int tracepoints_connect(struct module *module)
{
	struct marker_table *table;
	unsigned int i;
	int err = 0;

	mutex_lock(&registry.lock);
	list_for_each_entry(table, &registry.tables, node)
		for (i = 0; table->module == module && i < table->nr && !err; i++)
			err = make_ready(record_marker(&table->records[i]));
	mutex_unlock(&registry.lock);
	return err;
}

/* May its callback have been called?  It is not any more. */
static bool disconnect(struct marker *marker)
{
	if (marker->flavour != MARKER_TRACEPOINT || !tp_of(marker)->ready)
		return false;
	tracepoint_switch(marker, false);
	return true;
}

/**
 * tracepoints_drop() - see that no tracepoint calls a module that leaves
 * @table: its markers
 *
 * A callback that was disconnected before may still run: in newer kernels a task
 * can be preempted there, and nobody else waits for it.
 *
 * Context: may sleep; on return no callback runs any more.
 */
void tracepoints_drop(struct marker_table *table)
{
	bool called = false;
	unsigned int i;

	for (i = 0; i < table->nr; i++)
		called |= disconnect(record_marker(&table->records[i]));
	if (called)
		tracepoint_synchronize_unregister();
}
