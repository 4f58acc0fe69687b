// SPDX-License-Identifier: GPL-2.0-only
/*
 * The marker registry: joins markers, found in the tables of modules, with
 * probes, registered under a name, whichever comes first.
 *
 * A marker reads one RCU array of (probe, private data) pairs, so a probe never
 * meets the data of another.  Going on, the site is switched first and the
 * array published after; going off, the array is withdrawn first: a site that
 * is on without an array calls nothing.
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/jhash.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <kmarkers/marker.h>

#include "registry.h"

#define HASH_BUCKETS	64

/* The probes of a name, published to its markers; ends with func NULL. */
struct probe_array {
	struct rcu_head rcu;
	unsigned int nr;
	struct marker_probe probe[];
};

/* A name: it exists while it has markers or probes. */
struct marker_entry {
	struct hlist_node node;
	struct list_head markers;	/* struct marker */
	struct probe_array *probes;	/* NULL if none */
	char *format;			/* of its first user while probes exist, else NULL */
	char name[];
};

/* The markers of one translation unit. */
struct marker_table {
	struct list_head node;
	struct module *module;
	s32 *records;
	unsigned int nr;
};

static struct {
	struct mutex lock;		/* before that of immediate values */
	struct hlist_head names[HASH_BUCKETS];
	struct list_head tables;
} registry = {
	.lock = __MUTEX_INITIALIZER(registry.lock),
	.tables = LIST_HEAD_INIT(registry.tables),
};

const u8 marker_tables_need_markers;
EXPORT_SYMBOL_GPL(marker_tables_need_markers);

static struct hlist_head *bucket(const char *name)
{
	return &registry.names[jhash(name, strlen(name), 0) % HASH_BUCKETS];
}

static struct marker_entry *find_entry(const char *name)
{
	struct marker_entry *entry;

	hlist_for_each_entry(entry, bucket(name), node)
		if (!strcmp(entry->name, name))
			return entry;
	return NULL;
}

static struct marker_entry *get_entry(const char *name)
{
	struct marker_entry *entry = find_entry(name);

	if (entry)
		return entry;
	entry = kzalloc(sizeof(*entry) + strlen(name) + 1, GFP_KERNEL);
	if (!entry)
		return NULL;
	strcpy(entry->name, name);
	INIT_LIST_HEAD(&entry->markers);
	hlist_add_head(&entry->node, bucket(name));
	return entry;
}

static void put_entry(struct marker_entry *entry)
{
	if (!entry->probes) {
		kfree(entry->format);
		entry->format = NULL;
	}
	if (entry->probes || !list_empty(&entry->markers))
		return;
	hlist_del(&entry->node);
	kfree(entry);
}

static unsigned int count_probes(const struct marker_entry *entry)
{
	return entry->probes ? entry->probes->nr : 0;
}

static bool format_fits(const struct marker_entry *entry, const char *format)
{
	return !entry->format || !strcmp(entry->format, format);
}

/* The first format that a name with probes meets is the one all must have. */
static int fix_format(struct marker_entry *entry, const char *format)
{
	if (entry->format || !format)
		return 0;
	entry->format = kstrdup(format, GFP_KERNEL);
	return entry->format ? 0 : -ENOMEM;
}

/* Switch the sites of @markers that fit to @on; all or none. */
static int switch_sites(struct marker **markers, unsigned int nr, bool on)
{
	struct imv_change *changes;
	unsigned int i, count = 0;
	int err = 0;

	changes = kvcalloc(nr, sizeof(*changes), GFP_KERNEL);
	if (!changes)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		if (markers[i]->state__imv == on)
			continue;
		changes[count].var = &markers[i]->state__imv;
		changes[count].value = on;
		changes[count++].size = 1;
	}
	if (count)
		err = imv_set_many(changes, count);
	kvfree(changes);
	return err;
}

/* The markers of a name whose format fits, as an array to be freed; NULL: no memory. */
static struct marker **fitting_markers(struct marker_entry *entry, unsigned int *nr)
{
	struct marker *marker, **fitting;
	unsigned int count = 0;

	list_for_each_entry(marker, &entry->markers, node)
		count++;
	fitting = kvcalloc(count + 1, sizeof(*fitting), GFP_KERNEL);
	if (!fitting)
		return NULL;
	*nr = 0;
	list_for_each_entry(marker, &entry->markers, node)
		if (format_fits(entry, marker->format))
			fitting[(*nr)++] = marker;
	return fitting;
}

static void publish(struct marker **markers, unsigned int nr, const struct probe_array *array)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		rcu_assign_pointer(markers[i]->probes, array ? array->probe : NULL);
}

/* Replace the probes of a name.  Cannot fail when probes are taken away. */
static int set_probes(struct marker_entry *entry, struct probe_array *array)
{
	struct probe_array *old = entry->probes;
	struct marker **markers;
	unsigned int nr;
	int err = 0;

	markers = fitting_markers(entry, &nr);
	if (!markers)
		return -ENOMEM;
	if (array && nr)
		err = switch_sites(markers, nr, true);
	if (!err) {
		publish(markers, nr, array);
		entry->probes = array;
		/*
		 * A site that cannot be switched off for lack of memory calls
		 * nothing, and is switched by the next change.
		 */
		if (!array && nr)
			switch_sites(markers, nr, false);
		if (old)
			kfree_rcu(old, rcu);
	}
	kvfree(markers);
	return err;
}

static struct probe_array *alloc_array(unsigned int nr)
{
	struct probe_array *array;

	array = kzalloc(sizeof(*array) + (nr + 1) * sizeof(array->probe[0]), GFP_KERNEL);
	if (array)
		array->nr = nr;
	return array;
}

static int find_probe(const struct marker_entry *entry, marker_probe_func *func, void *private)
{
	unsigned int i;

	for (i = 0; i < count_probes(entry); i++)
		if (entry->probes->probe[i].func == func &&
		    entry->probes->probe[i].private == private)
			return i;
	return -ENOENT;
}

static void log_mismatch(const struct marker_entry *entry, const struct marker *marker)
{
	pr_warn("markers: %s in %s(): format \"%s\" is not the registered \"%s\", stays off\n",
		marker->name, marker->func, marker->format, entry->format);
}

static int add_probe(struct marker_entry *entry, const char *format,
		     marker_probe_func *func, void *private)
{
	struct marker *marker;
	struct probe_array *array;
	unsigned int nr = count_probes(entry);
	int err;

	if (format && !format_fits(entry, format))
		return -EPERM;
	if (find_probe(entry, func, private) >= 0)
		return -EBUSY;
	if (!format && !list_empty(&entry->markers))
		format = list_first_entry(&entry->markers, struct marker, node)->format;
	err = fix_format(entry, format);
	if (err)
		return err;
	array = alloc_array(nr + 1);
	if (!array)
		return -ENOMEM;
	if (nr)
		memcpy(array->probe, entry->probes->probe, nr * sizeof(array->probe[0]));
	array->probe[nr].func = func;
	array->probe[nr].private = private;
	err = set_probes(entry, array);
	if (err) {
		kfree(array);
		return err;
	}
	if (!nr)
		list_for_each_entry(marker, &entry->markers, node)
			if (!format_fits(entry, marker->format))
				log_mismatch(entry, marker);
	return 0;
}

/**
 * marker_probe_register() - connect a probe to every marker of a name
 * @name: the markers' name; none of them need exist yet
 * @format: the format the probe expects, or NULL for any
 * @probe: the probe
 * @probe_private: passed to it
 *
 * Context: may sleep.
 * Return: 0; -EINVAL without a name or probe; -EBUSY if this probe is registered
 * with this private data; -EPERM if @format differs from the registered one;
 * -ENOMEM; or what imv_set_many() returns.
 */
int marker_probe_register(const char *name, const char *format,
			  marker_probe_func *probe, void *probe_private)
{
	struct marker_entry *entry;
	int err = -ENOMEM;

	if (!name || !*name || !probe)
		return -EINVAL;
	mutex_lock(&registry.lock);
	entry = get_entry(name);
	if (entry) {
		err = add_probe(entry, format, probe, probe_private);
		put_entry(entry);
	}
	mutex_unlock(&registry.lock);
	return err;
}
EXPORT_SYMBOL_GPL(marker_probe_register);

static int del_probe(struct marker_entry *entry, marker_probe_func *func, void *private)
{
	struct probe_array *array = NULL;
	unsigned int i, at = 0, nr = count_probes(entry);
	int gone = find_probe(entry, func, private);
	int err;

	if (gone < 0)
		return gone;
	if (nr > 1) {
		array = alloc_array(nr - 1);
		if (!array)
			return -ENOMEM;
		for (i = 0; i < nr; i++)
			if (i != gone)
				array->probe[at++] = entry->probes->probe[i];
	}
	err = set_probes(entry, array);
	if (err)
		kfree(array);
	return err;
}

/**
 * marker_probe_unregister() - disconnect a probe
 * @name: as registered
 * @probe: as registered
 * @probe_private: as registered
 *
 * The probe may still run on other CPUs until marker_synchronize_unregister().
 *
 * Context: may sleep.
 * Return: 0, -ENOENT if there is no such registration, or -ENOMEM.
 */
int marker_probe_unregister(const char *name, marker_probe_func *probe, void *probe_private)
{
	struct marker_entry *entry;
	int err = -ENOENT;

	mutex_lock(&registry.lock);
	entry = name ? find_entry(name) : NULL;
	if (entry) {
		err = del_probe(entry, probe, probe_private);
		put_entry(entry);
	}
	mutex_unlock(&registry.lock);
	return err;
}
EXPORT_SYMBOL_GPL(marker_probe_unregister);

/**
 * marker_synchronize_unregister() - wait for probes that were unregistered
 *
 * To be called between unregistering probes and freeing their code or data.
 *
 * Context: may sleep.
 */
void marker_synchronize_unregister(void)
{
	synchronize_rcu();
}
EXPORT_SYMBOL_GPL(marker_synchronize_unregister);

/**
 * marker_probe_call() - call the probes of a marker
 * @marker: the marker
 * @call_private: passed to the probes
 * @fmt: its format
 *
 * Called by trace_mark() while the marker is on.
 *
 * Context: any.
 */
void marker_probe_call(const struct marker *marker, void *call_private, const char *fmt, ...)
{
	const struct marker_probe *probe;
	va_list args;

	preempt_disable_notrace();
	/* Pairs with rcu_assign_pointer() in publish(). */
	probe = rcu_dereference_raw(marker->probes);
	for (; probe && probe->func; probe++) {
		va_start(args, fmt);
		probe->func(probe->private, call_private, fmt, &args);
		va_end(args);
	}
	preempt_enable_notrace();
}
EXPORT_SYMBOL_GPL(marker_probe_call);

static struct marker *record_marker(s32 *record)
{
	return (struct marker *)((unsigned long)record + *record);
}

static void drop_markers(struct marker_table *table, unsigned int nr)
{
	struct marker_entry *entry;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		struct marker *marker = record_marker(&table->records[i]);

		if (!marker->node.next)
			continue;
		list_del(&marker->node);
		marker->node.next = NULL;
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
 * markers_add_chunk() - take over the markers of one translation unit
 * @module: the module being loaded; NULL in user space
 * @chunk: the head of its records
 *
 * On return they are connected to the probes registered under their names.
 * Their immediate values must be known already.
 *
 * Context: may sleep; no code of @module runs yet.
 * Return: 0; -EINVAL for a malformed table; -ENOMEM; or what imv_set_many() returns.
 */
int markers_add_chunk(struct module *module, struct kmarkers_chunk *chunk)
{
	unsigned int nr = kmarkers_chunk_records(chunk, sizeof(s32));
	struct marker_table *table;
	int err;

	if (!nr)
		return kmarkers_chunk_valid(chunk, sizeof(s32)) ? 0 : -EINVAL;
	table = kzalloc(sizeof(*table), GFP_KERNEL);
	if (!table)
		return -ENOMEM;
	table->module = module;
	table->records = (void *)(chunk + 1);
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
	for (i = 0; i < HASH_BUCKETS; i++) {
		hlist_for_each_entry_safe(entry, next, &registry.names[i], node) {
			hlist_del(&entry->node);
			kfree(entry->probes);
			kfree(entry->format);
			kfree(entry);
		}
	}
	mutex_unlock(&registry.lock);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static const char *const flavours[] = {
	[MARKER_GENERIC] = "generic",
	[MARKER_IMMEDIATE] = "immediate",
	[MARKER_JUMP] = "jump",
	[MARKER_CMP_FLIP] = "cmp-flip",
	[MARKER_XOR_FLIP] = "xor-flip",
};

static void show_marker(struct seq_file *m, struct module *module, const struct marker *marker)
{
	const struct marker_entry *entry = find_entry(marker->name);

	seq_printf(m, "%s %s %s %u %s %s %s:%u \"%s\"\n", marker->name,
		   marker->state__imv ? "on" : "off",
		   flavours[marker->flavour],
		   marker->probes ? count_probes(entry) : 0, module_name(module),
		   marker->func, base_name(marker->file), marker->line, marker->format);
}

/* Every marker, then every name that has probes and no marker yet. */
int markers_show(struct seq_file *m, void *unused)
{
	struct marker_table *table;
	struct marker_entry *entry;
	unsigned int i;

	seq_puts(m, "name state flavour probes module function file:line format\n");
	mutex_lock(&registry.lock);
	list_for_each_entry(table, &registry.tables, node)
		for (i = 0; i < table->nr; i++)
			show_marker(m, table->module, record_marker(&table->records[i]));
	for (i = 0; i < HASH_BUCKETS; i++)
		hlist_for_each_entry(entry, &registry.names[i], node)
			if (list_empty(&entry->markers))
				seq_printf(m, "%s waiting - %u - - - \"%s\"\n", entry->name,
					   count_probes(entry), entry->format ?: "");
	mutex_unlock(&registry.lock);
	return 0;
}
