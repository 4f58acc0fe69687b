// SPDX-License-Identifier: GPL-2.0-only
/*
 * How markers go on and off: whoever leads to a marker, its stub, and the value that
 * its site reads.
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

/* Make room for so many markers: 0 or -ENOMEM. */
int marker_switch_begin(struct marker_switch *batch, unsigned int room)
{
	batch->nr = 0;
	batch->changes = kvcalloc(room, sizeof(*batch->changes), GFP_KERNEL);
	return batch->changes ? 0 : -ENOMEM;
}

/* Bring a marker to @on, if it is not. */
void marker_switch_add(struct marker_switch *batch, struct marker *marker, bool on)
{
	if (marker->state__imv == on)
		return;
	batch->changes[batch->nr].var = &marker->state__imv;
	batch->changes[batch->nr].value = on;
	batch->changes[batch->nr++].size = 1;
}

/**
 * marker_switch_end() - switch what was added, in one batch
 * @batch: what marker_switch_begin() began
 * @err: not 0 to switch nothing
 *
 * Return: @err, or what imv_set_many() returns; all or none is switched.
 */
int marker_switch_end(struct marker_switch *batch, int err)
{
	lockdep_assert_held(&marker_registry.lock);
	if (batch->nr && !err)
		err = imv_set_many(batch->changes, batch->nr);
	kvfree(batch->changes);
	return err;
}

/*
 * Who leads to a marker has to know that it is on: ftrace for a function, a tracepoint
 * for its callback.
 */
int marker_switch_outside(struct marker *marker, bool on)
{
	if (marker->flavour == MARKER_FUNCTION)
		return marker_ftrace_switch(marker, on);
	return marker->flavour == MARKER_TRACEPOINT ? marker_tracepoint_switch(marker, on) : 0;
}

static int prepare_marker(struct marker *marker)
{
	return marker_switch_outside(marker, true) ?: marker_stub_leave(marker);
}

/**
 * marker_switch_before() - what the markers of a name need before they go on
 * @entry: the name
 *
 * Return: 0, or an error, and marker_switch_after() undoes it.
 */
int marker_switch_before(struct marker_entry *entry)
{
	struct marker *marker;
	int err = 0;

	lockdep_assert_held(&marker_registry.lock);
	list_for_each_entry(marker, &entry->markers, node) {
		if (!format_fits(entry, marker->format))
			continue;
		err = prepare_marker(marker);
		if (err)
			break;
	}
	return err;
}

/* And after they went off. */
void marker_switch_after(struct marker_entry *entry)
{
	struct marker *marker;

	list_for_each_entry(marker, &entry->markers, node) {
		marker_switch_outside(marker, false);
		marker_stub_settle(marker);
	}
}
