// SPDX-License-Identifier: GPL-2.0-only
/* The interface of 2006, and walking through markers as in 2.6.25-2.6.31. */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/string.h>

#include "internal.h"

#define FEW_ARGS	8

/* Every variadic argument that is an integer or a pointer has a slot of this size. */
static void take_args(unsigned long *slots, unsigned int nr, va_list *args)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		slots[i] = va_arg(*args, unsigned long);
}

static noinline void call_with_many(marker_probe_2006 *probe, const char *fmt,
				    unsigned int nr, va_list *args)
{
	unsigned long a[MARKER_MAX_ARGS] = { 0 };

	take_args(a, nr < MARKER_MAX_ARGS ? nr : MARKER_MAX_ARGS, args);
	probe(fmt, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10],
	      a[11], a[12], a[13], a[14], a[15], a[16], a[17], a[18], a[19], a[20], a[21],
	      a[22], a[23], a[24], a[25], a[26], a[27], a[28], a[29], a[30], a[31]);
}

/*
 * The probe that stands for one of 2006, which is its private data: passes the
 * arguments on.  Their number is the marker's; the format is not looked at.
 */
static void forward_2006(void *private, void *call_private, const char *fmt, va_list *args)
{
	unsigned int nr = marker_of_args(args)->nr_args;
	marker_probe_2006 *probe = private;
	unsigned long a[FEW_ARGS] = { 0 };

	if (nr > FEW_ARGS) {
		call_with_many(probe, fmt, nr, args);
		return;
	}
	take_args(a, nr, args);
	probe(fmt, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
}

bool is_2006(const struct marker_probe *probe)
{
	return probe->func == forward_2006;
}

static unsigned int count_fitting(const struct marker_entry *entry, const char *format)
{
	const struct marker *marker;
	unsigned int count = 0;

	list_for_each_entry(marker, &entry->markers, node)
		count += !format || !strcmp(marker->format, format);
	return count;
}

/* The number of sites that call the probe now, or 0. */
static int set_probe(struct marker_entry *entry, const char *format, void *probe)
{
	struct marker *marker;
	int err;

	if (!count_fitting(entry, format)) {
		list_for_each_entry(marker, &entry->markers, node)
			pr_warn("%s in %s(): format \"%s\" is not the probe's \"%s\"\n",
				marker->name, marker->func, marker->format, format);
		return 0;
	}
	err = add_probe(entry, format, forward_2006, probe);
	/* Set again: other modules may have brought markers meanwhile. */
	if (err && err != -EBUSY) {
		pr_warn("%s: probe not set: error %d\n", entry->name, err);
		return 0;
	}
	return count_fitting(entry, entry->format);
}

/**
 * marker_set_probe() - connect a probe to the markers of a name, as in 2006
 * @name: the markers' name; one with a fitting format must exist
 * @format: the format the probe expects, or NULL for any
 * @probe: the probe
 *
 * Markers of that name that come later are connected as well.  A probe that is set
 * again stays connected once.
 *
 * Context: may sleep.
 * Return: how many markers call the probe now; 0 is failure, and the log says why.
 */
int marker_set_probe(const char *name, const char *format, union marker_any_probe probe)
{
	struct marker_entry *entry;
	int count = 0;

	if (!name || !probe.probe)
		return 0;
	mutex_lock(&registry.lock);
	entry = find_entry(name);
	if (entry) {
		count = set_probe(entry, format, probe.probe);
		put_entry(entry);
	} else {
		pr_warn("%s: probe not set: no such marker\n", name);
	}
	mutex_unlock(&registry.lock);
	return count;
}
EXPORT_SYMBOL_GPL(marker_set_probe);

/**
 * marker_remove_probe() - disconnect a probe from all names, as in 2006
 * @probe: as set
 *
 * It may still run on other CPUs until marker_synchronize_unregister().
 *
 * Context: may sleep.
 * Return: how many markers called the probe; 0 is failure.
 */
int marker_remove_probe(union marker_any_probe probe)
{
	struct marker_entry *entry;
	struct hlist_node *next;
	unsigned int i;
	int index, count = 0;

	mutex_lock(&registry.lock);
	for (i = 0; i < 1U << registry.order; i++) {
		hlist_for_each_entry_safe(entry, next, &registry.names[i], node) {
			index = array_find(entry->probes, forward_2006, probe.probe);
			if (index < 0)
				continue;
			count += count_fitting(entry, entry->format);
			del_probe(entry, index);
			put_entry(entry);
		}
	}
	mutex_unlock(&registry.lock);
	return count;
}
EXPORT_SYMBOL_GPL(marker_remove_probe);

/* Without a probe it is about all markers. */
static bool is_listed(const struct marker_entry *entry, const struct marker *marker, void *probe)
{
	return !probe || (array_find(entry->probes, forward_2006, probe) >= 0 &&
			  format_fits(entry, marker->format));
}

/**
 * marker_list_probe() - log the markers that call a probe, as in 2006
 * @probe: as set; NULL: log every marker there is
 *
 * Context: may sleep.
 * Return: how many there are.
 */
int marker_list_probe(union marker_any_probe probe)
{
	struct marker_entry *entry;
	struct marker *marker;
	unsigned int i;
	int count = 0;

	mutex_lock(&registry.lock);
	for_each_name(entry, i) {
		list_for_each_entry(marker, &entry->markers, node) {
			if (!is_listed(entry, marker, probe.probe))
				continue;
			pr_info("%s in %s(), format \"%s\"\n", marker->name,
				marker->func, marker->format);
			count++;
		}
	}
	mutex_unlock(&registry.lock);
	return count;
}
EXPORT_SYMBOL_GPL(marker_list_probe);

/* Let the walk stand at the next table that has markers, or at the end. */
static void find_table(struct marker_iter *iter, struct list_head *node)
{
	while (node != &registry.tables && !list_entry(node, struct marker_table, node)->nr)
		node = node->next;
	iter->index = 0;
	iter->table = NULL;
	iter->module = NULL;
	iter->marker = NULL;
	if (node == &registry.tables)
		return;
	iter->table = list_entry(node, struct marker_table, node);
	iter->module = iter->table->module;
	iter->marker = record_marker(&iter->table->records[0]);
}

static void step(struct marker_iter *iter)
{
	if (!iter->table)
		return;
	if (++iter->index < iter->table->nr)
		iter->marker = record_marker(&iter->table->records[iter->index]);
	else
		find_table(iter, iter->table->node.next);
}

/**
 * marker_iter_reset() - let a walk begin at the first marker
 * @iter: the walk, stopped
 *
 * Context: any.
 */
void marker_iter_reset(struct marker_iter *iter)
{
	memset(iter, 0, sizeof(*iter));
}
EXPORT_SYMBOL_GPL(marker_iter_reset);

/**
 * marker_iter_start() - begin to walk through all markers, or go on after a stop
 * @iter: the walk, reset once
 *
 * Until marker_iter_stop() no marker comes or goes and no probe can be
 * registered.  A walk that was stopped goes on at the position it had come to.
 *
 * Context: may sleep.
 */
void marker_iter_start(struct marker_iter *iter)
{
	unsigned int i;

	mutex_lock(&registry.lock);
	iter->locked = true;
	find_table(iter, registry.tables.next);
	for (i = 0; i < iter->pos; i++)
		step(iter);
}
EXPORT_SYMBOL_GPL(marker_iter_start);

/**
 * marker_iter_next() - go to the next marker
 * @iter: the walk, started
 *
 * Context: any.
 */
void marker_iter_next(struct marker_iter *iter)
{
	iter->pos++;
	step(iter);
}
EXPORT_SYMBOL_GPL(marker_iter_next);

/**
 * marker_iter_stop() - end or interrupt a walk
 * @iter: the walk; nothing happens if it was not started
 *
 * Context: may sleep.
 */
void marker_iter_stop(struct marker_iter *iter)
{
	if (!iter->locked)
		return;
	iter->locked = false;
	mutex_unlock(&registry.lock);
}
EXPORT_SYMBOL_GPL(marker_iter_stop);
