// SPDX-License-Identifier: GPL-2.0-only
/*
 * Register the marker table of each module, and unregister the table when the module is unloaded.
 */
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "array.h"
#include "ftrace.h"
#include "names.h"
#include "probes.h"
#include "stubs.h"
#include "switch.h"
#include "tables.h"
#include "tracepoint.h"
#include "typed.h"

/* Unpublish the probes of a marker, so that a hit calls no probe even if the site is still on. */
static void unpublish_marker_probes(struct marker *marker)
{
	rcu_assign_pointer(marker->probes, NULL);
	marker_typed_unpublish_probes(marker);
}

static void remove_marker_from_name(struct marker *marker)
{
	struct marker_entry *entry;

	list_del(&marker->node);
	marker->node.next = NULL;
	entry = marker_name_find(marker->name);
	if (entry)
		marker_name_free_if_unused(entry);
}

/*
 * Unregister the markers of a table.  Marked code may still run: MODULE_STATE_GOING is sent before
 * the kernel removes the files of the module's parameters, and a function that sets a parameter
 * may hit markers.  So unpublish the probes, switch the sites off, wait for a grace period, and
 * only then free the data that hits read.
 */
static void unregister_table_markers(struct marker_table *table)
{
	struct marker_switch batch;
	unsigned int i;
	int err;

	marker_tracepoints_disconnect(table);
	err = marker_switch_begin_batch(&batch, table->nr);
	for (i = 0; i < table->nr; i++) {
		struct marker *marker = get_marker_of_record(&table->records[i]);

		if (!marker->node.next)
			continue;
		unpublish_marker_probes(marker);
		if (!err)
			marker_switch_add(&batch, marker, false);
		remove_marker_from_name(marker);
	}
	if (err ?: marker_switch_end_batch(&batch, 0))
		marker_switch_off_table(table);
	synchronize_rcu();
	for (i = 0; i < table->nr; i++)
		marker_typed_free_probes(get_marker_of_record(&table->records[i]));
}

/*
 * Add a marker to the list of its name, unless an earlier record of the table has added it: if the
 * compiler has duplicated the marker's code, the table has several records of the same marker.
 */
static int add_marker_to_name(struct marker *marker)
{
	struct marker_entry *entry;

	if (marker->node.next)
		return 0;
	entry = marker_name_find_or_make(marker->name);
	if (!entry)
		return -ENOMEM;
	list_add_tail(&marker->node, &entry->markers);
	return 0;
}

/* Connect a marker in a new table to the probes that are registered for its name. */
static int connect_marker_to_probes(struct marker *marker, struct marker_switch *batch)
{
	struct marker_entry *entry = marker_name_find(marker->name);
	int err;

	if (!entry->probes || marker->probes)
		return 0;
	err = marker_name_set_format(entry, marker->format);
	if (err)
		return err;
	if (!is_format_accepted(entry, marker->format)) {
		marker_name_log_format_mismatch(entry, marker);
		return 0;
	}
	/* The marker's code does not run yet: publish the probes before the site is on. */
	rcu_assign_pointer(marker->probes, entry->probes->probe);
	marker_switch_add(batch, marker, true);
	return marker_switch_hook(marker, true);
}

static int connect_table_markers(struct marker_table *table)
{
	struct marker_switch batch;
	unsigned int i;
	int err;

	err = marker_switch_begin_batch(&batch, table->nr);
	if (err)
		return err;
	for (i = 0; i < table->nr && !err; i++)
		err = connect_marker_to_probes(get_marker_of_record(&table->records[i]), &batch);
	return marker_switch_end_batch(&batch, err);
}

static int add_table_markers(struct marker_table *table)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < table->nr && !err; i++)
		err = add_marker_to_name(get_marker_of_record(&table->records[i]));
	if (!err)
		err = connect_table_markers(table);
	if (err) {
		unregister_table_markers(table);
		return err;
	}
	list_add_tail(&table->node, &marker_registry.tables);
	return 0;
}

/**
 * marker_tables_register_module() - register the markers of a module
 * @module: the module being loaded; NULL in user space
 * @span: the records of the module's markers
 *
 * On return each marker is connected to the probes registered under its name.  The function
 * must be called before the module's immediate values are registered, because that registration
 * patches the sites of the markers.
 *
 * Context: may sleep; no code of @module runs yet.
 * Return: 0; -EINVAL for a malformed table; -ENOMEM; or an error of imv_set_many().
 */
int marker_tables_register_module(struct module *module, const struct kmarkers_span *span)
{
	int err, nr = kmarkers_count_records(span, sizeof(s32));
	struct marker_table *table;

	if (nr <= 0)
		return nr;
	table = kzalloc(sizeof(*table), GFP_KERNEL);
	if (!table)
		return -ENOMEM;
	table->module = module;
	table->records = span->first;
	table->nr = nr;

	mutex_lock(&marker_registry.lock);
	err = add_table_markers(table);
	mutex_unlock(&marker_registry.lock);
	if (err)
		kfree(table);
	return err;
}

/**
 * marker_tables_unregister_module() - unregister the markers of a module
 * @module: the module that is being unloaded; functions that set its parameters may still run
 *
 * On return no marker of the module calls a probe, and no earlier call of a probe still runs.
 *
 * Context: may sleep; waits for a grace period if the module has markers.
 */
void marker_tables_unregister_module(struct module *module)
{
	struct marker_table *table, *next;

	mutex_lock(&marker_registry.lock);
	list_for_each_entry_safe(table, next, &marker_registry.tables, node) {
		if (table->module != module)
			continue;
		list_del(&table->node);
		unregister_table_markers(table);
		kfree(table);
	}
	marker_stubs_unregister_module(module);
	mutex_unlock(&marker_registry.lock);
}

/**
 * marker_tables_unregister_records() - unregister a table of markers
 * @records: the first record of the table
 *
 * On return the markers call no probe, and no earlier call of a probe still runs.
 *
 * Context: may sleep; waits for a grace period.
 */
void marker_tables_unregister_records(const s32 *records)
{
	struct marker_table *table, *next;

	mutex_lock(&marker_registry.lock);
	list_for_each_entry_safe(table, next, &marker_registry.tables, node) {
		if (table->records != records)
			continue;
		list_del(&table->node);
		unregister_table_markers(table);
		kfree(table);
	}
	mutex_unlock(&marker_registry.lock);
}

/**
 * marker_tables_set_ready() - allow the markers of a module to become trace events
 * @module: the module, whose init has succeeded
 *
 * Context: may sleep.
 * Return: true if the module has markers.
 */
bool marker_tables_set_ready(struct module *module)
{
	struct marker_table *table;
	bool found = false;

	mutex_lock(&marker_registry.lock);
	list_for_each_entry(table, &marker_registry.tables, node) {
		if (table->module != module)
			continue;
		table->ready = true;
		found = true;
	}
	mutex_unlock(&marker_registry.lock);
	return found;
}

/*
 * Return the module that will own the trace event of a marker, or NULL if the marker may not have
 * a trace event yet.
 */
static struct module *get_event_owner(const struct marker_table *table, const struct marker *marker)
{
	if (!table->module)
		return marker_ftrace_get_owner(marker);
	return table->ready ? table->module : NULL;
}

/**
 * marker_tables_visit_ready() - call a function for the markers that may become trace events
 * @module: the module of the markers; NULL for all markers, also those attached to functions
 * @visit: called for each marker, with the module that will own the marker's event; a return value
 *	other than 0 ends the walk
 * @data: passed to @visit
 *
 * Context: may sleep; @visit must not call the registry.
 * Return: 0, or the value other than 0 that @visit returned.
 */
int marker_tables_visit_ready(struct module *module, marker_ready_visitor *visit, void *data)
{
	struct marker_table *table;
	struct module *owner;
	unsigned int i;
	int err = 0;

	mutex_lock(&marker_registry.lock);
	list_for_each_entry(table, &marker_registry.tables, node) {
		if (module && table->module != module)
			continue;
		for (i = 0; i < table->nr && !err; i++) {
			const struct marker *marker = get_marker_of_record(&table->records[i]);

			owner = get_event_owner(table, marker);
			if (owner)
				err = visit(data, marker, owner);
		}
	}
	mutex_unlock(&marker_registry.lock);
	return err;
}

static const struct marker *find_marker_in_table(const struct marker_table *table, const char *name,
						 const char *format)
{
	unsigned int i;

	for (i = 0; i < table->nr; i++) {
		const struct marker *marker = get_marker_of_record(&table->records[i]);

		if (!strcmp(marker->name, name) && (!format || !strcmp(marker->format, format)))
			return marker;
	}
	return NULL;
}

static const struct marker *find_ready_marker(const char *name, const char *format,
					      struct module **module)
{
	const struct marker_entry *entry = marker_name_find(name);
	const struct marker *marker;
	struct marker_table *table;

	if (!entry || list_empty(&entry->markers))
		return NULL;
	list_for_each_entry(table, &marker_registry.tables, node) {
		marker = find_marker_in_table(table, name, format);
		*module = marker ? get_event_owner(table, marker) : NULL;
		if (*module)
			return marker;
	}
	return NULL;
}

/**
 * marker_tables_visit_first_ready() - call a function for a marker that may become a trace event
 * @name: the marker's name
 * @format: the marker's format, NULL for any
 * @visit: called for the first marker with this name and format that may become a trace event, with
 *	the module that will own the event
 * @data: passed to @visit
 *
 * The registry's lock is held during the call, because a marker attached to a function is freed
 * once it is unregistered.
 *
 * Context: may sleep; event_mutex is held; @visit must not call the registry.
 * Return: the return value of @visit, or 0 if there is no such marker.
 */
int marker_tables_visit_first_ready(const char *name, const char *format,
				    marker_ready_visitor *visit, void *data)
{
	const struct marker *marker;
	struct module *owner;
	int err = 0;

	mutex_lock(&marker_registry.lock);
	marker = find_ready_marker(name, format, &owner);
	if (marker)
		err = visit(data, marker, owner);
	mutex_unlock(&marker_registry.lock);
	return err;
}

/**
 * marker_tables_disconnect_if() - disconnect all probes for which a function returns true
 * @must_disconnect: the function, which tests whether the code of a probe is being unloaded
 * @data: passed to @must_disconnect
 *
 * Context: may sleep; on return none of these probes still runs.
 * Return: number of probes that were disconnected.
 */
unsigned int marker_tables_disconnect_if(probe_predicate *must_disconnect, void *data)
{
	unsigned int count;

	mutex_lock(&marker_registry.lock);
	count = marker_probes_disconnect_if(must_disconnect, data);
	count += marker_typed_disconnect_if(must_disconnect, data);
	mutex_unlock(&marker_registry.lock);
	if (count)
		marker_synchronize_unregister();
	return count;
}
