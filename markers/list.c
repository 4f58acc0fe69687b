// SPDX-License-Identifier: GPL-2.0-only
/* Print the list of registered markers, and call a function for each marker. */
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/string.h>

#include "../base/lists.h"
#include "array.h"
#include "list.h"
#include "names.h"
#include "stubs.h"

static const char *get_base_name(const char *path)
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
	[MARKER_TYPED] = "typed",
	[MARKER_FUNCTION] = "ftrace",
	[MARKER_TRACEPOINT] = "tracepoint",
};

/* Print the line of a marker in the debugfs file markers/list.  The registry's lock is held. */
static void show_marker_line(struct seq_file *m, const struct marker *marker)
{
	const struct marker_entry *entry = marker_name_find(marker->name);

	seq_printf(m, "%s %s %s %u %s %s ", marker->name,
		   marker->state__imv ? "on" : "off",
		   flavours[marker->flavour],
		   (marker->probes ? count_live_probes(entry->probes) : 0) +
		   count_typed_probes(marker),
		   marker->module, marker->func);
	if (marker->file)
		seq_printf(m, "%s:%u \"%s\"\n", get_base_name(marker->file), marker->line,
			   marker->format);
	else
		seq_printf(m, "- \"%s\"\n", marker->format);
}

/* Print every marker, then every name that has probes but no marker yet. */
int marker_list_show(struct seq_file *m, void *unused)
{
	struct marker_table *table;
	struct marker_entry *entry;
	unsigned int i;

	seq_puts(m, "name state flavour probes module function file:line format\n");
	mutex_lock(&marker_registry.lock);
	list_for_each_entry(table, &marker_registry.tables, node)
		for (i = 0; i < table->nr && kmarkers_seq_has_space(m); i++)
			show_marker_line(m, get_marker_of_record(&table->records[i]));
	for_each_name(entry, i)
		if (list_empty(&entry->markers) && kmarkers_seq_has_space(m))
			seq_printf(m, "%s waiting - %u - - - \"%s\"\n", entry->name,
				   count_live_probes(entry->probes), entry->format ?: "");
	mutex_unlock(&marker_registry.lock);
	return 0;
}

static int visit_markers_of_name(const char *name, marker_visitor *visit, void *data)
{
	struct marker_entry *entry = marker_name_find(name);
	struct marker *marker;
	int err = 0;

	if (!entry)
		return 0;
	list_for_each_entry(marker, &entry->markers, node) {
		err = visit(data, marker);
		if (err)
			break;
	}
	return err;
}

static int visit_marker_tables(const struct module *module, marker_visitor *visit, void *data)
{
	struct marker_table *table;
	unsigned int i;
	int err = 0;

	list_for_each_entry(table, &marker_registry.tables, node) {
		if (module && table->module != module)
			continue;
		for (i = 0; i < table->nr && !err; i++)
			err = visit(data, get_marker_of_record(&table->records[i]));
	}
	return err;
}

/**
 * marker_visit() - call a function for markers, under the registry's lock
 * @name: name of the markers; NULL for any
 * @module: if @name is NULL, module of the markers; NULL for any
 * @visit: called for each marker; a return value other than 0 ends the walk
 * @data: passed to @visit
 *
 * Context: may sleep; @visit must not take the registry's lock.
 * Return: 0, or the value other than 0 that @visit returned.
 */
int marker_visit(const char *name, const struct module *module, marker_visitor *visit,
		 void *data)
{
	int err;

	mutex_lock(&marker_registry.lock);
	err = name ? visit_markers_of_name(name, visit, data) :
		     visit_marker_tables(module, visit, data);
	mutex_unlock(&marker_registry.lock);
	return err;
}

static int stop_at_first_marker(void *data, const struct marker *marker)
{
	return 1;
}

/*
 * Return true if a marker with the name @name exists; if @name is NULL, true if @module contains a
 * marker; if both are NULL, true if any marker exists.
 */
bool marker_exists(const char *name, const struct module *module)
{
	return marker_visit(name, module, stop_at_first_marker, NULL);
}
