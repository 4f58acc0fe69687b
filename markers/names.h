/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The marker registry. It consists of the marker names, each with its markers and probes, and of
 * the tables of modules.
 */
#ifndef MARKERS_NAMES_H
#define MARKERS_NAMES_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/string.h>

#include <kmarkers/marker.h>

struct module;
struct probe_array;

/**
 * struct marker_entry - registry entry of a marker name; exists while the name has markers or
 * probes
 * @node: link in the hash table of names
 * @markers: list of struct marker
 * @probes: array of the connected probes, NULL if there are none
 * @format: format that markers and probes of this name must have; NULL while any format is accepted
 * @has_refused: true if a probe was refused because of @format
 * @name: the name
 */
struct marker_entry {
	struct hlist_node node;
	struct list_head markers;
	struct probe_array *probes;
	char *format;
	bool has_refused;
	char name[];
};

/**
 * struct marker_table - the markers of a module
 * @node: link in the list of all tables
 * @module: the module; NULL in user space, and for a marker attached to a function
 * @records: array of offsets, each from the address of the array element to a struct marker
 * @nr: number of records
 * @ready: true once the markers may become trace events
 */
struct marker_table {
	struct list_head node;
	struct module *module;
	s32 *records;
	unsigned int nr;
	bool ready;
};

struct marker_registry {
	/* Taken before the lock of immediate values. */
	struct mutex lock;
	struct hlist_head *names;	/* 1 << @order buckets */
	unsigned int order;
	unsigned int nr_names;
	struct list_head tables;
};

extern struct marker_registry marker_registry;

/*
 * Function that is called, with the registry's lock held, when a name that has refused a probe
 * because of its format accepts any format again; NULL in user space.
 */
extern void (*marker_name_retry_refused)(void);

/* Walk over all names of the registry; the loop body must not remove @entry. */
#define for_each_name(entry, bucket)					\
	for ((bucket) = 0; (bucket) < 1U << marker_registry.order; (bucket)++)	\
		hlist_for_each_entry(entry, &marker_registry.names[bucket], node)

/* Walk over all names of the registry; the loop body may remove @entry. */
#define for_each_name_safe(entry, next, bucket)				\
	for ((bucket) = 0; (bucket) < 1U << marker_registry.order; (bucket)++)	\
		hlist_for_each_entry_safe(entry, next, &marker_registry.names[bucket], node)

static inline struct marker *get_marker_of_record(s32 *record)
{
	return (struct marker *)((unsigned long)record + *record);
}

static inline bool is_format_accepted(const struct marker_entry *entry, const char *format)
{
	return !entry->format || !strcmp(entry->format, format);
}

struct marker_entry *marker_name_find(const char *name);
struct marker_entry *marker_name_find_or_make(const char *name);
void marker_name_free_if_unused(struct marker_entry *entry);
int marker_name_set_format(struct marker_entry *entry, const char *format);
void marker_name_log_format_mismatch(const struct marker_entry *entry, const struct marker *marker);
void marker_names_free(void);

#endif /* MARKERS_NAMES_H */
