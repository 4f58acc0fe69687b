// SPDX-License-Identifier: GPL-2.0-only
/*
 * The marker registry: joins markers, found in the tables of modules, with
 * probes, registered under a name, whichever comes first.
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/jhash.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "internal.h"
#include "registry.h"

#define FIRST_ORDER	6

static struct hlist_head first_names[1 << FIRST_ORDER];

struct marker_registry registry = {
	.lock = __MUTEX_INITIALIZER(registry.lock),
	.names = first_names,
	.order = FIRST_ORDER,
	.tables = LIST_HEAD_INIT(registry.tables),
};

const u8 marker_tables_need_markers;
EXPORT_SYMBOL_GPL(marker_tables_need_markers);

static struct hlist_head *bucket(const char *name)
{
	return &registry.names[jhash(name, strlen(name), 0) & ((1U << registry.order) - 1)];
}

static void use_names(struct hlist_head *names, unsigned int order)
{
	if (registry.names != first_names)
		kvfree(registry.names);
	registry.names = names;
	registry.order = order;
}

/* Twice the buckets when there are more names than buckets; without memory, later. */
static void grow(void)
{
	struct hlist_head *old = registry.names, *names;
	unsigned int i, nr = 1U << registry.order;
	struct marker_entry *entry;
	struct hlist_node *next;

	if (registry.nr_names < nr)
		return;
	names = kvcalloc(2 * nr, sizeof(*names), GFP_KERNEL);
	if (!names)
		return;
	registry.names = names;
	registry.order++;
	for (i = 0; i < nr; i++) {
		hlist_for_each_entry_safe(entry, next, &old[i], node) {
			hlist_del(&entry->node);
			hlist_add_head(&entry->node, bucket(entry->name));
		}
	}
	if (old != first_names)
		kvfree(old);
}

struct marker_entry *find_entry(const char *name)
{
	struct marker_entry *entry;

	lockdep_assert_held(&registry.lock);
	hlist_for_each_entry(entry, bucket(name), node)
		if (!strcmp(entry->name, name))
			return entry;
	return NULL;
}

/* Find or make a name.  Callers end with put_entry(). */
struct marker_entry *get_entry(const char *name)
{
	struct marker_entry *entry = find_entry(name);

	if (entry)
		return entry;
	entry = kzalloc(sizeof(*entry) + strlen(name) + 1, GFP_KERNEL);
	if (!entry)
		return NULL;
	strcpy(entry->name, name);
	INIT_LIST_HEAD(&entry->markers);
	grow();
	hlist_add_head(&entry->node, bucket(name));
	registry.nr_names++;
	return entry;
}

/* Forget the format without probes, and a name without either. */
void put_entry(struct marker_entry *entry)
{
	if (!entry->probes) {
		kfree(entry->format);
		entry->format = NULL;
	}
	if (entry->probes || !list_empty(&entry->markers))
		return;
	hlist_del(&entry->node);
	registry.nr_names--;
	kfree(entry);
}

static void drop_markers(struct marker_table *table, unsigned int nr)
{
	struct marker_entry *entry;
	unsigned int i;

	tracepoints_drop(table);
	for (i = 0; i < nr; i++) {
		struct marker *marker = record_marker(&table->records[i]);

		if (!marker->node.next)
			continue;
		list_del(&marker->node);
		marker->node.next = NULL;
		typed_drop(marker);
		entry = find_entry(marker->name);
		if (entry)
			put_entry(entry);
	}
}

/*
 * Join a marker to its name.  Code that the compiler duplicated records the
 * same marker more than once.
 */
static int add_marker(struct marker *marker)
{
	struct marker_entry *entry;

	if (marker->node.next)
		return 0;
	entry = get_entry(marker->name);
	if (!entry)
		return -ENOMEM;
	list_add_tail(&marker->node, &entry->markers);
	return 0;
}

/* Connect the markers of a new table to the probes that wait for them. */
static int connect_table(struct marker_table *table)
{
	struct marker_entry *entry;
	struct marker **on;
	unsigned int i, count = 0;
	int err = 0;

	on = kvcalloc(table->nr, sizeof(*on), GFP_KERNEL);
	if (!on)
		return -ENOMEM;
	for (i = 0; i < table->nr && !err; i++) {
		struct marker *marker = record_marker(&table->records[i]);

		entry = find_entry(marker->name);
		if (!entry->probes || marker->probes)
			continue;
		err = fix_format(entry, marker->format);
		if (err)
			break;
		if (!format_fits(entry, marker->format)) {
			log_mismatch(entry, marker);
			continue;
		}
		/* Its code does not run yet: the order does not matter. */
		rcu_assign_pointer(marker->probes, entry->probes->probe);
		on[count++] = marker;
		err = switch_outside(marker, true);
	}
	if (count && !err)
		err = switch_sites(on, count, true);
	kvfree(on);
	return err;
}

static int add_table(struct marker_table *table)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < table->nr && !err; i++)
		err = add_marker(record_marker(&table->records[i]));
	if (!err)
		err = connect_table(table);
	if (err) {
		drop_markers(table, table->nr);
		return err;
	}
	list_add_tail(&table->node, &registry.tables);
	return 0;
}

/**
 * markers_add_table() - take over the markers of a module
 * @module: the module being loaded; NULL in user space
 * @span: its records
 *
 * On return they are connected to the probes registered under their names.  To be
 * called before their immediate values are taken over, which patches their sites.
 *
 * Context: may sleep; no code of @module runs yet.
 * Return: 0; -EINVAL for a malformed table; -ENOMEM; or what imv_set_many() returns.
 */
int markers_add_table(struct module *module, const struct kmarkers_span *span)
{
	int err, nr = kmarkers_span_records(span, sizeof(s32));
	struct marker_table *table;

	if (nr <= 0)
		return nr;
	table = kzalloc(sizeof(*table), GFP_KERNEL);
	if (!table)
		return -ENOMEM;
	table->module = module;
	table->records = span->first;
	table->nr = nr;

	mutex_lock(&registry.lock);
	err = add_table(table);
	mutex_unlock(&registry.lock);
	if (err)
		kfree(table);
	return err;
}

/**
 * markers_drop_module() - forget every marker of a module
 * @module: a module whose code no longer runs
 *
 * Context: may sleep.
 */
void markers_drop_module(struct module *module)
{
	struct marker_table *table, *next;

	mutex_lock(&registry.lock);
	list_for_each_entry_safe(table, next, &registry.tables, node) {
		if (table->module != module)
			continue;
		list_del(&table->node);
		drop_markers(table, table->nr);
		kfree(table);
	}
	typed_drop_stubs(module);
	mutex_unlock(&registry.lock);
}

/**
 * markers_drop_records() - forget markers whose code may still run
 * @records: the first record of a table, as added
 *
 * They call no probe any more, but may be in one until a grace period has passed.
 *
 * Context: may sleep.
 */
void markers_drop_records(const s32 *records)
{
	struct marker_table *table, *next;
	unsigned int i;

	mutex_lock(&registry.lock);
	list_for_each_entry_safe(table, next, &registry.tables, node) {
		if (table->records != records)
			continue;
		list_del(&table->node);
		for (i = 0; i < table->nr; i++)
			rcu_assign_pointer(record_marker(&table->records[i])->probes, NULL);
		drop_markers(table, table->nr);
		kfree(table);
	}
	mutex_unlock(&registry.lock);
}

/**
 * markers_free() - free what probes that were never unregistered left behind
 *
 * Context: may sleep; no marker and no user of the registry is left.
 */
void markers_free(void)
{
	struct marker_entry *entry;
	struct hlist_node *next;
	unsigned int i;

	mutex_lock(&registry.lock);
	for (i = 0; i < 1U << registry.order; i++) {
		hlist_for_each_entry_safe(entry, next, &registry.names[i], node) {
			hlist_del(&entry->node);
			kfree(entry->probes);
			kfree(entry->format);
			kfree(entry);
		}
	}
	registry.nr_names = 0;
	use_names(first_names, FIRST_ORDER);
	mutex_unlock(&registry.lock);
}

/**
 * markers_disconnect() - disconnect every probe whose code goes away
 * @gone: tells whether the code at an address goes
 * @data: passed to it
 *
 * Context: may sleep; on return none of them runs any more.
 * Return: how many there were.
 */
unsigned int markers_disconnect(bool (*gone)(void *data, const char *name, unsigned long code),
				void *data)
{
	unsigned int count;

	mutex_lock(&registry.lock);
	count = probes_disconnect(gone, data);
	count += typed_disconnect(gone, data);
	mutex_unlock(&registry.lock);
	if (count)
		marker_synchronize_unregister();
	return count;
}
