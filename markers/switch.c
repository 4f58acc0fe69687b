// SPDX-License-Identifier: GPL-2.0-only
/*
 * Switching markers on and off.  Three things may have to change: the immediate value that the site
 * of the marker tests; the stub, if the marker is typed; and the registration of the marker's hook,
 * which is the ftrace_ops of a marker at a function, or the tracepoint callback that contains the
 * marker.
 */
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/slab.h>

#include <kmarkers/immediate.h>
#include <kmarkers/marker.h>

#include "ftrace.h"
#include "names.h"
#include "stubs.h"
#include "switch.h"
#include "tracepoint.h"

/* Begin a batch of at most @max_markers markers to be switched.  Return 0 or -ENOMEM. */
int marker_switch_begin_batch(struct marker_switch *batch, unsigned int max_markers)
{
	batch->nr = 0;
	batch->changes = kvcalloc(max_markers, sizeof(*batch->changes), GFP_KERNEL);
	return batch->changes ? 0 : -ENOMEM;
}

/*
 * Add a marker to a batch, which will switch it on if @on is true, else off.  Do nothing if the
 * marker is already in this state.
 */
void marker_switch_add(struct marker_switch *batch, struct marker *marker, bool on)
{
	if (marker->state__imv == on)
		return;
	batch->changes[batch->nr].var = &marker->state__imv;
	batch->changes[batch->nr].value = on;
	batch->changes[batch->nr++].size = 1;
}

/**
 * marker_switch_end_batch() - switch the markers that were added to a batch, and free the batch
 * @batch: the batch, begun with marker_switch_begin_batch()
 * @err: 0; or an error of the caller, in which case the batch is freed and no marker is switched
 *
 * Return: @err if it is not 0, else the result of imv_set_many().  If the result is an error, no
 * marker is switched.
 */
int marker_switch_end_batch(struct marker_switch *batch, int err)
{
	lockdep_assert_held(&marker_registry.lock);
	if (batch->nr && !err)
		err = imv_set_many(batch->changes, batch->nr);
	kvfree(batch->changes);
	return err;
}

/* Switch off one marker, unless it is off.  An error is ignored. */
void marker_switch_off(struct marker *marker)
{
	struct imv_change change = { .var = &marker->state__imv, .size = 1 };

	if (marker->state__imv)
		imv_set_many(&change, 1);
}

/**
 * marker_switch_off_table() - switch off the markers of a table one by one
 * @table: the table of a module's markers
 *
 * If a site cannot be switched off, for instance because a kprobe is on it, only this site stays
 * on.
 */
void marker_switch_off_table(const struct marker_table *table)
{
	unsigned int i;

	for (i = 0; i < table->nr; i++)
		marker_switch_off(get_marker_of_record(&table->records[i]));
}

/*
 * Register or unregister the hook of a marker: the ftrace_ops of a marker attached to a function,
 * or the tracepoint callback that contains the marker.  Other markers have no hook.
 */
int marker_switch_hook(struct marker *marker, bool on)
{
	if (marker->flavour == MARKER_FUNCTION)
		return marker_ftrace_switch(marker, on);
	return marker->flavour == MARKER_TRACEPOINT ? marker_tracepoint_switch(marker, on) : 0;
}

static int prepare_marker_for_switch(struct marker *marker)
{
	return marker_switch_hook(marker, true) ?: marker_stub_use_iterator(marker);
}

/**
 * marker_switch_register_hooks() - register the hooks of all markers that have one name
 * @entry: the registry entry of the name
 *
 * This function is called before the markers are switched on, and also patches the stub of each
 * typed marker to jump to the marker's iterator.
 *
 * Return: 0, or an error, after which marker_switch_unregister_hooks() must be called.
 */
int marker_switch_register_hooks(struct marker_entry *entry)
{
	struct marker *marker;
	int err = 0;

	lockdep_assert_held(&marker_registry.lock);
	list_for_each_entry(marker, &entry->markers, node) {
		if (!is_format_accepted(entry, marker->format))
			continue;
		err = prepare_marker_for_switch(marker);
		if (err)
			break;
	}
	return err;
}

/*
 * Unregister the hooks of all markers that have the name of @entry, and let the stub of each marker
 * that has exactly one probe call this probe directly.  Call this function after the markers were
 * switched off, or after an attempt to switch them on has failed.
 */
void marker_switch_unregister_hooks(struct marker_entry *entry)
{
	struct marker *marker;

	list_for_each_entry(marker, &entry->markers, node) {
		marker_switch_hook(marker, false);
		marker_stub_use_single_probe(marker);
	}
}
