// SPDX-License-Identifier: GPL-2.0-only
/*
 * Markers in callbacks of tracepoints, as in Linux 2.6.28: a callback is connected to its
 * tracepoint while the marker in the callback has probes.
 */
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/tracepoint.h>

#include "names.h"
#include "tracepoint.h"

/* List of each struct marker_tp whose callback is connected to its tracepoint. */
static LIST_HEAD(connected);

static struct marker_tp *get_tracepoint_marker(struct marker *marker)
{
	return container_of(marker, struct marker_tp, marker);
}

/*
 * Return true if the callback that contains a marker is already connected, because another marker
 * in this callback is on.  All markers in a callback share one connection.
 */
static bool is_callback_already_connected(const struct marker_tp *tp)
{
	const struct marker_tp *other;

	lockdep_assert_held(&marker_registry.lock);
	list_for_each_entry(other, &connected, node)
		if (other != tp && other->tracepoint == tp->tracepoint &&
		    other->callback == tp->callback)
			return true;
	return false;
}

static int connect_callback(struct marker_tp *tp)
{
	int err = is_callback_already_connected(tp) ? 0 :
		  tracepoint_probe_register_may_exist(tp->tracepoint, tp->callback, NULL);

	if (!err)
		list_add(&tp->node, &connected);
	else if (err == -EEXIST)
		pr_warn("marker %s in %s(): callback %ps is already connected to the tracepoint %s by other code: disconnect the callback in that code\n",
			tp->marker.name, tp->marker.func, tp->callback, tp->tracepoint->name);
	else
		pr_warn("marker %s in %s(): callback %ps cannot be connected to the tracepoint %s: error %d\n",
			tp->marker.name, tp->marker.func, tp->callback, tp->tracepoint->name, err);
	return err;
}

static void disconnect_callback(struct marker_tp *tp)
{
	list_del(&tp->node);
	tp->node.next = NULL;
	if (!is_callback_already_connected(tp))
		tracepoint_probe_unregister(tp->tracepoint, tp->callback, NULL);
}

/**
 * marker_tracepoint_switch() - connect a callback to its tracepoint, or disconnect it
 * @marker: a marker in the callback
 * @on: true to connect the callback, false to disconnect it
 *
 * A callback is not disconnected while another marker in the callback is on.  While the marker's
 * module is being loaded nothing is done: marker_tracepoints_connect() connects the callback later.
 *
 * Context: may sleep.
 * Return: 0; -EEXIST if other code has connected the callback; or an error of the tracepoint core.
 */
int marker_tracepoint_switch(struct marker *marker, bool on)
{
	struct marker_tp *tp = get_tracepoint_marker(marker);

	lockdep_assert_held(&marker_registry.lock);
	if (!!tp->node.next == on || !tp->ready)
		return 0;
	if (on)
		return connect_callback(tp);
	disconnect_callback(tp);
	return 0;
}

/* Allow the callback of a marker to be connected, and connect it if the marker has probes. */
static int allow_and_connect_callback(struct marker *marker)
{
	if (marker->flavour != MARKER_TRACEPOINT)
		return 0;
	get_tracepoint_marker(marker)->ready = true;
	return marker->probes ? marker_tracepoint_switch(marker, true) : 0;
}

/**
 * marker_tracepoints_connect() - connect those callbacks of a module whose markers have probes
 * @module: the module being loaded
 *
 * The callbacks may run once they are connected.  So this function is called after the module's
 * text was patched, and after the kernel has initialised the module's jump labels and tracepoints.
 *
 * Context: may sleep.
 * Return: 0, or an error of the tracepoint core.
 */
int marker_tracepoints_connect(struct module *module)
{
	struct marker_table *table;
	unsigned int i;
	int err = 0;

	mutex_lock(&marker_registry.lock);
	list_for_each_entry(table, &marker_registry.tables, node)
		for (i = 0; table->module == module && i < table->nr && !err; i++)
			err = allow_and_connect_callback(get_marker_of_record(&table->records[i]));
	mutex_unlock(&marker_registry.lock);
	return err;
}

/* Disconnect the callback of a marker.  Return true if the callback may have been connected. */
static bool disconnect_module_callback(struct marker *marker)
{
	if (marker->flavour != MARKER_TRACEPOINT || !get_tracepoint_marker(marker)->ready)
		return false;
	marker_tracepoint_switch(marker, false);
	return true;
}

/**
 * marker_tracepoints_disconnect() - disconnect the callbacks in a module that is being unloaded
 * @table: the module's markers
 *
 * The function also waits for callbacks that were disconnected earlier: in newer kernels a task can
 * be preempted in a callback, and no other code waits until the task has left the callback.
 *
 * Context: may sleep; on return no callback still runs.
 */
void marker_tracepoints_disconnect(struct marker_table *table)
{
	bool called = false;
	unsigned int i;

	for (i = 0; i < table->nr; i++)
		called |= disconnect_module_callback(get_marker_of_record(&table->records[i]));
	if (called)
		tracepoint_synchronize_unregister();
}
