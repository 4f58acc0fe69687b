// SPDX-License-Identifier: GPL-2.0-only
/* Probes of many names at a time: the sites of all are switched in one batch. */
#include <linux/errno.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "internal.h"
#include "registry.h"

/**
 * struct link_state - what becomes of a link
 * @entry: its name; when disconnecting, if that has no probe any more
 * @array: of a name without probes, to be published; else NULL
 * @added: to a name that had probes already
 */
struct link_state {
	struct marker_entry *entry;
	struct probe_array *array;
	bool added;
};

static unsigned int count_markers(const struct marker_entry *entry)
{
	const struct marker *marker;
	unsigned int count = 0;

	list_for_each_entry(marker, &entry->markers, node)
		count++;
	return count;
}

/* A name that is on gets its probe at once; one that is off, an array for later. */
static int prepare_link(const struct marker_link *link, struct link_state *state)
{
	struct marker_entry *entry = find_entry(link->name);
	struct probe_array *old;
	int err;

	if (!entry || list_empty(&entry->markers))
		return -ENOENT;
	state->entry = entry;
	if (entry->probes) {
		err = add_probe(entry, NULL, link->func, link->private);
		state->added = !err;
		return err;
	}
	err = fix_format(entry, list_first_entry(&entry->markers, struct marker, node)->format);
	return err ?: array_add(&state->array, link->func, link->private, probe_nothing, &old);
}

/* Add to @changes what switches the markers of a name. */
static int collect(struct marker_entry *entry, struct imv_change *changes, unsigned int *nr)
{
	struct marker *marker;
	int err = all_before_on(entry);

	if (err)
		return err;
	list_for_each_entry(marker, &entry->markers, node)
		if (format_fits(entry, marker->format))
			want(changes, nr, marker, true);
	return 0;
}

static int switch_all_on(const struct link_state *states, unsigned int nr)
{
	unsigned int i, room = 0, count = 0;
	struct imv_change *changes;
	int err = 0;

	for (i = 0; i < nr; i++)
		room += states[i].array ? count_markers(states[i].entry) : 0;
	changes = kvcalloc(room + 1, sizeof(*changes), GFP_KERNEL);
	if (!changes)
		return -ENOMEM;
	for (i = 0; i < nr && !err; i++)
		if (states[i].array)
			err = collect(states[i].entry, changes, &count);
	if (count && !err)
		err = imv_set_many(changes, count);
	kvfree(changes);
	return err;
}

static void publish_link(struct link_state *state)
{
	struct marker *marker;

	if (!state->array)
		return;
	publish_probes(state->entry, state->array);
	list_for_each_entry(marker, &state->entry->markers, node)
		if (!format_fits(state->entry, marker->format))
			log_mismatch(state->entry, marker);
}

static void undo_link(const struct marker_link *link, struct link_state *state)
{
	if (state->added)
		del_probe(state->entry, array_find(state->entry->probes, link->func,
						   link->private));
	if (state->array)
		all_after_off(state->entry);
	kfree(state->array);
	if (state->entry)
		put_entry(state->entry);
}

static int connect_links(const struct marker_link *links, struct link_state *states,
			 unsigned int nr)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < nr && !err; i++)
		err = prepare_link(&links[i], &states[i]);
	if (!err)
		err = switch_all_on(states, nr);
	for (i = 0; i < nr; i++) {
		if (err)
			undo_link(&links[i], &states[i]);
		else
			publish_link(&states[i]);
	}
	return err;
}

/**
 * markers_connect_many() - connect a probe each to many names
 * @links: names that have markers, each once, and their probes
 * @nr: how many
 *
 * The sites of all names are switched in one batch.
 *
 * Context: may sleep.
 * Return: 0; or an error with nothing connected: -ENOENT if a name has no marker,
 * or what marker_probe_register() returns.
 */
int markers_connect_many(const struct marker_link *links, unsigned int nr)
{
	struct link_state *states;
	int err;

	states = kvcalloc(nr, sizeof(*states), GFP_KERNEL);
	if (!states)
		return -ENOMEM;
	mutex_lock(&registry.lock);
	err = connect_links(links, states, nr);
	mutex_unlock(&registry.lock);
	kvfree(states);
	return err;
}

/* Switch off the names that @links emptied, in one batch. */
static int switch_all_off(const struct link_state *states, unsigned int nr)
{
	unsigned int i, room = 0, count = 0;
	struct imv_change *changes;
	struct marker *marker;
	int err = 0;

	for (i = 0; i < nr; i++)
		room += states[i].entry ? count_markers(states[i].entry) : 0;
	changes = kvcalloc(room + 1, sizeof(*changes), GFP_KERNEL);
	if (!changes)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		if (!states[i].entry)
			continue;
		list_for_each_entry(marker, &states[i].entry->markers, node)
			if (format_fits(states[i].entry, marker->format))
				want(changes, &count, marker, typed_probes(marker));
	}
	if (count)
		err = imv_set_many(changes, count);
	kvfree(changes);
	return err;
}

static void settle(struct marker_entry *entry)
{
	all_after_off(entry);
	put_entry(entry);
}

static void disconnect_links(const struct marker_link *links, struct link_state *states,
			     unsigned int nr)
{
	struct marker_entry *entry;
	unsigned int i;
	int index;

	for (i = 0; i < nr; i++) {
		entry = find_entry(links[i].name);
		index = entry ? array_find(entry->probes, links[i].func, links[i].private) :
				-ENOENT;
		if (index >= 0 && withdraw_probe(entry, index))
			states[i].entry = entry;
	}
	/* What cannot be switched off calls nothing, and is switched by the next change. */
	switch_all_off(states, nr);
	for (i = 0; i < nr; i++)
		if (states[i].entry)
			settle(states[i].entry);
}

/**
 * markers_disconnect_many() - disconnect probes of many names
 * @links: as they were connected
 * @nr: how many
 *
 * The probes may run until marker_synchronize_unregister().
 *
 * Context: may sleep.
 * Return: 0, or -ENOMEM with nothing changed.
 */
int markers_disconnect_many(const struct marker_link *links, unsigned int nr)
{
	struct link_state *states;

	states = kvcalloc(nr, sizeof(*states), GFP_KERNEL);
	if (!states)
		return -ENOMEM;
	mutex_lock(&registry.lock);
	disconnect_links(links, states, nr);
	mutex_unlock(&registry.lock);
	kvfree(states);
	return 0;
}
