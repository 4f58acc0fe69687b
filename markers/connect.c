// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connect probes to marker names, and disconnect probes.  A call can connect or disconnect the
 * probes of any number of names.  The sites (patched instructions) of all these names are switched
 * in one batch.
 *
 * All markers that have the same name read the same RCU array of (probe, private data) pairs, so a
 * probe is never called with the private data of another probe.  To switch markers on, their sites
 * are switched first, and the array is published afterwards.  To switch markers off, the array is
 * unpublished first.  A site that is on calls no probe while no array is published.
 */
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "array.h"
#include "connect.h"
#include "names.h"
#include "stubs.h"
#include "switch.h"

/* Publish @array, or NULL, to the markers that have both the name and the format of @entry. */
static void publish_probes(struct marker_entry *entry, struct probe_array *array)
{
	struct marker *marker;

	lockdep_assert_held(&marker_registry.lock);
	entry->probes = array;
	list_for_each_entry(marker, &entry->markers, node)
		if (is_format_accepted(entry, marker->format))
			rcu_assign_pointer(marker->probes, array ? array->probe : NULL);
}

/*
 * For each typed marker that has the name @entry, patch the marker's stub to jump to the marker's
 * iterator, which calls all probes of the marker.  After an error a stub may still call the only
 * probe directly.
 */
static int patch_stubs_to_iterators(struct marker_entry *entry)
{
	struct marker *marker;
	int err = 0;

	list_for_each_entry(marker, &entry->markers, node)
		if (is_format_accepted(entry, marker->format))
			err = err ?: marker_stub_use_iterator(marker);
	return err;
}

static void patch_stubs_to_single_probes(struct marker_entry *entry)
{
	struct marker *marker;

	list_for_each_entry(marker, &entry->markers, node)
		marker_stub_use_single_probe(marker);
}

/*
 * Add a probe to a name that already has probes, so that the sites of its markers are already on.
 */
static int add_further_probe(struct marker_link *link)
{
	struct probe_array *array = link->entry->probes, *old;
	int err;

	err = patch_stubs_to_iterators(link->entry) ?:
	      marker_array_add_probe(&array, link->func, link->private, marker_array_do_nothing,
				     &old);
	if (err)
		return err;
	link->joined = true;
	if (old) {
		publish_probes(link->entry, array);
		kfree_rcu(old, rcu);
	}
	return 0;
}

/* Allocate the array for the first probe of a name; publish_linked_probe() publishes it. */
static int alloc_first_probe_array(struct marker_link *link)
{
	struct probe_array *old;
	int err;

	err = marker_array_add_probe(&link->array, link->func, link->private,
				     marker_array_do_nothing, &old);
	link->switches = !err;
	return err;
}

static int prepare_probe_link(struct marker_link *link)
{
	struct marker_entry *entry = link->entry;
	const char *format = link->format;
	int err;

	if (format && !is_format_accepted(entry, format)) {
		pr_warn("marker %s: a probe with format \"%s\" is refused: the format of this marker name is \"%s\"\n",
			entry->name, format, entry->format);
		entry->has_refused = true;
		return -EPERM;
	}
	if (marker_array_find_probe(entry->probes, link->func, link->private) >= 0)
		return -EBUSY;
	if (!format && !list_empty(&entry->markers))
		format = list_first_entry(&entry->markers, struct marker, node)->format;
	err = marker_name_set_format(entry, format);
	if (err)
		return err;
	return entry->probes ? add_further_probe(link) : alloc_first_probe_array(link);
}

static unsigned int count_markers_of_name(const struct marker_entry *entry)
{
	const struct marker *marker;
	unsigned int count = 0;

	list_for_each_entry(marker, &entry->markers, node)
		count++;
	return count;
}

/*
 * Add to @batch all markers in @entry whose format is the format of the probes in @entry.  The
 * batch switches these markers on if @on is true, else off.  A marker that has typed probes stays
 * on.
 */
static void add_markers_to_batch(struct marker_switch *batch, struct marker_entry *entry, bool on)
{
	struct marker *marker;

	list_for_each_entry(marker, &entry->markers, node)
		if (is_format_accepted(entry, marker->format))
			marker_switch_add(batch, marker, on || count_typed_probes(marker));
}

/* Switch the sites of each name that got a first probe or lost its last probe. */
static int switch_sites_of_names(const struct marker_link *links, unsigned int nr, bool on)
{
	struct marker_switch batch;
	unsigned int i, nr_markers = 0;
	int err;

	for (i = 0; i < nr; i++)
		nr_markers += links[i].switches ? count_markers_of_name(links[i].entry) : 0;
	if (!nr_markers)
		return 0;
	err = marker_switch_begin_batch(&batch, nr_markers);
	if (err)
		return err;
	for (i = 0; i < nr && !err; i++) {
		if (!links[i].switches)
			continue;
		if (on)
			err = marker_switch_register_hooks(links[i].entry);
		add_markers_to_batch(&batch, links[i].entry, on);
	}
	return marker_switch_end_batch(&batch, err);
}

/*
 * Disconnect a probe from a marker name.  Return 0; -ENOENT if the probe is not connected; or an
 * error of patcher_apply(), in which case the probe stays connected.  A stub that calls the probe
 * directly is first patched to jump to the iterator, which calls all probes.
 */
static int remove_linked_probe(struct marker_link *link)
{
	struct probe_array *array = link->entry->probes, *old;
	int err, index = marker_array_find_probe(array, link->func, link->private);

	if (index < 0)
		return index;
	err = patch_stubs_to_iterators(link->entry);
	if (err)
		return err;
	marker_array_remove_probe(&array, index, marker_array_do_nothing, &old);
	publish_probes(link->entry, array);
	if (old)
		kfree_rcu(old, rcu);
	link->switches = !array;
	patch_stubs_to_single_probes(link->entry);
	return 0;
}

static void publish_linked_probe(struct marker_link *link)
{
	struct marker *marker;

	if (!link->switches)
		return;
	publish_probes(link->entry, link->array);
	patch_stubs_to_single_probes(link->entry);
	list_for_each_entry(marker, &link->entry->markers, node)
		if (!is_format_accepted(link->entry, marker->format))
			marker_name_log_format_mismatch(link->entry, marker);
}

static void undo_probe_link(struct marker_link *link)
{
	if (link->joined)
		remove_linked_probe(link);
	if (link->switches)
		marker_switch_unregister_hooks(link->entry);
	kfree(link->array);
}

static int connect_linked_probes(struct marker_link *links, unsigned int nr)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < nr && !err; i++)
		err = prepare_probe_link(&links[i]);
	if (!err)
		err = switch_sites_of_names(links, nr, true);
	for (i = 0; i < nr; i++) {
		if (err)
			undo_probe_link(&links[i]);
		else
			publish_linked_probe(&links[i]);
	}
	return err;
}

static void switch_off_markers_one_by_one(struct marker_entry *entry)
{
	struct marker *marker;

	list_for_each_entry(marker, &entry->markers, node)
		if (is_format_accepted(entry, marker->format) && !count_typed_probes(marker))
			marker_switch_off(marker);
}

/*
 * Switch off all markers whose name lost its last probe.  Try this in one batch.  If the batch is
 * refused because of one site or for lack of memory, switch off as many markers as possible, by
 * bisection.  A site that remains on calls no probe.  The next attempt to switch off such a site is
 * made when the last probe of its name is removed again.
 */
static void switch_off_markers_of_names(const struct marker_link *links, unsigned int nr)
{
	if (!switch_sites_of_names(links, nr, false))
		return;
	if (nr > 1) {
		switch_off_markers_of_names(links, nr / 2);
		switch_off_markers_of_names(links + nr / 2, nr - nr / 2);
	} else if (links->switches) {
		switch_off_markers_one_by_one(links->entry);
	}
}

/*
 * Switch off all markers whose name lost its last probe, and unregister the hooks of these markers.
 */
static void switch_off_unused_names(struct marker_link *links, unsigned int nr)
{
	unsigned int i;

	switch_off_markers_of_names(links, nr);
	for (i = 0; i < nr; i++)
		if (links[i].switches)
			marker_switch_unregister_hooks(links[i].entry);
}

/* Connect a probe to a name.  Return 0 or an error of marker_probe_register(). */
int marker_connect_probe(struct marker_entry *entry, const char *format, marker_probe_func *func,
			 void *private)
{
	struct marker_link link = {
		.func = func, .private = private, .format = format, .entry = entry,
	};

	return connect_linked_probes(&link, 1);
}

/* Disconnect a probe from a name.  Return 0 or an error of remove_linked_probe(). */
int marker_disconnect_probe(struct marker_entry *entry, marker_probe_func *func, void *private)
{
	struct marker_link link = { .func = func, .private = private, .entry = entry };
	int err = remove_linked_probe(&link);

	if (!err)
		switch_off_unused_names(&link, 1);
	return err;
}

static void find_entries_of_links(struct marker_link *links, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		links[i].entry = marker_name_find(links[i].name);
		links[i].array = NULL;
		links[i].joined = false;
		links[i].switches = false;
	}
}

static bool all_names_have_markers(const struct marker_link *links, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (!links[i].entry || list_empty(&links[i].entry->markers))
			return false;
	return true;
}

/**
 * marker_connect_probes() - connect one probe to each of many names
 * @links: the names, without duplicates, and a probe for each name; every name must have a marker
 * @nr: number of links
 *
 * The sites of all names are switched in one batch.
 *
 * Context: may sleep.
 * Return: 0; or an error, in which case no probe is connected: -ENOENT if a name has no marker,
 * or an error of marker_probe_register().
 */
int marker_connect_probes(struct marker_link *links, unsigned int nr)
{
	unsigned int i;
	int err;

	mutex_lock(&marker_registry.lock);
	find_entries_of_links(links, nr);
	err = all_names_have_markers(links, nr) ? connect_linked_probes(links, nr) : -ENOENT;
	for (i = 0; i < nr; i++)
		if (links[i].entry)
			marker_name_free_if_unused(links[i].entry);
	mutex_unlock(&marker_registry.lock);
	return err;
}

/**
 * marker_disconnect_probes() - disconnect probes from many names
 * @links: the probes, each with a name.  The @err of each link is set: to 0; to -ENOENT if the
 *	probe was not connected; or to an error of patcher_apply(), after which the probe stays
 *	connected
 * @nr: number of links
 *
 * The probes may run until marker_synchronize_unregister().
 *
 * Context: may sleep.
 */
void marker_disconnect_probes(struct marker_link *links, unsigned int nr)
{
	unsigned int i;

	mutex_lock(&marker_registry.lock);
	find_entries_of_links(links, nr);
	for (i = 0; i < nr; i++)
		links[i].err = links[i].entry ? remove_linked_probe(&links[i]) : -ENOENT;
	switch_off_unused_names(links, nr);
	for (i = 0; i < nr; i++)
		if (links[i].switches)
			marker_name_free_if_unused(links[i].entry);
	mutex_unlock(&marker_registry.lock);
}
