// SPDX-License-Identifier: GPL-2.0-only
/*
 * The names in the marker registry.  The entry of a name connects the probes that are registered
 * for the name with the markers that have the name.  Probes may be registered before or after the
 * markers.
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/jhash.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "names.h"

#define FIRST_ORDER	6	/* binary logarithm of the initial number of hash buckets */

static struct hlist_head first_names[1 << FIRST_ORDER];

struct marker_registry marker_registry = {
	.lock = __MUTEX_INITIALIZER(marker_registry.lock),
	.names = first_names,
	.order = FIRST_ORDER,
	.tables = LIST_HEAD_INIT(marker_registry.tables),
};

const u8 marker_tables_need_markers;
EXPORT_SYMBOL_GPL(marker_tables_need_markers);

void (*marker_name_retry_refused)(void);

static struct hlist_head *find_name_bucket(const char *name)
{
	u32 mask = (1U << marker_registry.order) - 1;

	return &marker_registry.names[jhash(name, strlen(name), 0) & mask];
}

static void replace_name_buckets(struct hlist_head *names, unsigned int order)
{
	if (marker_registry.names != first_names)
		kvfree(marker_registry.names);
	marker_registry.names = names;
	marker_registry.order = order;
}

/*
 * If there are as many names as hash buckets, double the number of buckets.  If there is no memory,
 * keep the buckets: the next new name causes another attempt.
 */
static void grow_name_buckets(void)
{
	struct hlist_head *old = marker_registry.names, *names;
	unsigned int i, nr = 1U << marker_registry.order;
	struct marker_entry *entry;
	struct hlist_node *next;

	if (marker_registry.nr_names < nr)
		return;
	names = kvcalloc(2 * nr, sizeof(*names), GFP_KERNEL);
	if (!names)
		return;
	marker_registry.names = names;
	marker_registry.order++;
	for (i = 0; i < nr; i++) {
		hlist_for_each_entry_safe(entry, next, &old[i], node) {
			hlist_del(&entry->node);
			hlist_add_head(&entry->node, find_name_bucket(entry->name));
		}
	}
	if (old != first_names)
		kvfree(old);
}

struct marker_entry *marker_name_find(const char *name)
{
	struct marker_entry *entry;

	lockdep_assert_held(&marker_registry.lock);
	hlist_for_each_entry(entry, find_name_bucket(name), node)
		if (!strcmp(entry->name, name))
			return entry;
	return NULL;
}

/* Find or make the entry of a name.  The caller calls marker_name_free_if_unused() afterwards. */
struct marker_entry *marker_name_find_or_make(const char *name)
{
	struct marker_entry *entry = marker_name_find(name);

	if (entry)
		return entry;
	entry = kzalloc(sizeof(*entry) + strlen(name) + 1, GFP_KERNEL);
	if (!entry)
		return NULL;
	strcpy(entry->name, name);
	INIT_LIST_HEAD(&entry->markers);
	grow_name_buckets();
	hlist_add_head(&entry->node, find_name_bucket(name));
	marker_registry.nr_names++;
	return entry;
}

/*
 * If a name has no probes, clear the format of the name.  If the name has neither probes nor
 * markers, free the name.
 */
void marker_name_free_if_unused(struct marker_entry *entry)
{
	lockdep_assert_held(&marker_registry.lock);
	if (!entry->probes) {
		kfree(entry->format);
		entry->format = NULL;
		if (entry->has_refused && marker_name_retry_refused)
			marker_name_retry_refused();
		entry->has_refused = false;
	}
	if (entry->probes || !list_empty(&entry->markers))
		return;
	hlist_del(&entry->node);
	marker_registry.nr_names--;
	kfree(entry);
}

/*
 * Set the format of a name, unless the name has a format.  Markers and probes that are added later
 * must have this format.
 */
int marker_name_set_format(struct marker_entry *entry, const char *format)
{
	lockdep_assert_held(&marker_registry.lock);
	if (entry->format || !format)
		return 0;
	entry->format = kstrdup(format, GFP_KERNEL);
	return entry->format ? 0 : -ENOMEM;
}

void marker_name_log_format_mismatch(const struct marker_entry *entry, const struct marker *marker)
{
	pr_warn("marker %s in %s(): format \"%s\" is not the registered format \"%s\", so the marker stays off\n",
		marker->name, marker->func, marker->format, entry->format);
}

/**
 * marker_names_free() - free names that remain because of probes that were never unregistered
 *
 * Context: may sleep; no marker is registered.  No other task calls the registry, so its lock is
 * not taken.
 */
void marker_names_free(void)
{
	struct marker_entry *entry;
	struct hlist_node *next;
	unsigned int i;

	for_each_name_safe(entry, next, i) {
		hlist_del(&entry->node);
		kfree(entry->probes);
		kfree(entry->format);
		kfree(entry);
	}
	marker_registry.nr_names = 0;
	replace_name_buckets(first_names, FIRST_ORDER);
}
