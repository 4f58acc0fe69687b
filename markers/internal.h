/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of this directory share: names, their probes and their markers. */
#ifndef MARKERS_INTERNAL_H
#define MARKERS_INTERNAL_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/string.h>

#include <kmarkers/marker.h>

struct module;

/**
 * struct probe_array - probes as they are published: the last one has func NULL
 * @rcu: for the grace period before it is freed
 * @nr: probes, those that were taken out in place included
 * @live: probes that were not
 * @room: how many fit
 * @mask: number of @slots, a power of two, less one
 * @slots: a hash of the probes: their numbers, from 1
 * @probe: the probes
 *
 * Readers walk @probe while probes are appended: what is behind the end is all
 * zero, and func is stored last.  A probe that is not live has an empty func.
 */
struct probe_array {
	struct rcu_head rcu;
	unsigned int nr;
	unsigned int live;
	unsigned int room;
	unsigned int mask;
	u32 *slots;
	struct marker_probe probe[];
};

/**
 * struct marker_entry - a name: it exists while it has markers or probes
 * @node: in the hash of names
 * @markers: list of struct marker
 * @probes: NULL if none
 * @format: of its first user while probes exist, else NULL
 * @name: the name
 */
struct marker_entry {
	struct hlist_node node;
	struct list_head markers;
	struct probe_array *probes;
	char *format;
	char name[];
};

/* The markers of a module. */
struct marker_table {
	struct list_head node;
	struct module *module;
	s32 *records;
	unsigned int nr;
};

struct marker_registry {
	struct mutex lock;		/* before that of immediate values */
	struct hlist_head *names;	/* 1 << @order buckets */
	unsigned int order;
	unsigned int nr_names;
	struct list_head tables;
};

extern struct marker_registry registry;

/* Every name; not to be removed meanwhile. */
#define for_each_name(entry, bucket)					\
	for ((bucket) = 0; (bucket) < 1U << registry.order; (bucket)++)	\
		hlist_for_each_entry(entry, &registry.names[bucket], node)

static inline struct marker *record_marker(s32 *record)
{
	return (struct marker *)((unsigned long)record + *record);
}

static inline unsigned int live_probes(const struct probe_array *array)
{
	return array ? array->live : 0;
}

static inline bool format_fits(const struct marker_entry *entry, const char *format)
{
	return !entry->format || !strcmp(entry->format, format);
}

/* registry.c; the lock is held in all of them. */
struct marker_entry *find_entry(const char *name);
struct marker_entry *get_entry(const char *name);
void put_entry(struct marker_entry *entry);

/* probes.c; the lock is held in all of them. */
int array_find(const struct probe_array *array, marker_probe_func *func, void *private);
int array_add(struct probe_array **array, marker_probe_func *func, void *private,
	      marker_probe_func *empty, struct probe_array **old);
void array_del(struct probe_array **array, unsigned int index, marker_probe_func *empty,
	       struct probe_array **old);
int fix_format(struct marker_entry *entry, const char *format);
int add_probe(struct marker_entry *entry, const char *format,
	      marker_probe_func *func, void *private);
bool withdraw_probe(struct marker_entry *entry, unsigned int index);
void del_probe(struct marker_entry *entry, unsigned int index);
void publish_probes(struct marker_entry *entry, struct probe_array *array);
void want(struct imv_change *changes, unsigned int *nr, struct marker *marker, bool on);
void probe_nothing(void *private, void *call_private, const char *fmt, va_list *args);
unsigned long probe_code(const struct marker_probe *probe);
int switch_sites(struct marker **markers, unsigned int nr, bool on);
void log_mismatch(const struct marker_entry *entry, const struct marker *marker);

/* Tells whether the code at an address, of a probe for a name, goes away. */
typedef bool probe_gone(void *data, const char *name, unsigned long code);

unsigned int probes_disconnect(probe_gone *gone, void *data);

/* typed.c; the lock is held in all of them. */
unsigned int typed_probes(const struct marker *marker);
int typed_leave_direct(struct marker *marker);
void typed_settle(struct marker *marker);
unsigned int typed_disconnect(probe_gone *gone, void *data);
void typed_drop(struct marker *marker);
void typed_drop_stubs(struct module *module);

/*
 * functions.c and tracepoint.c: ftrace knows of a function, and a tracepoint of a
 * callback, while the marker is on.
 */
#ifdef __KERNEL__
int function_switch(struct marker *marker, bool on);
int tracepoint_switch(struct marker *marker, bool on);
void tracepoints_drop(struct marker_table *table);
#else
static inline int function_switch(struct marker *marker, bool on)
{
	return 0;
}

static inline int tracepoint_switch(struct marker *marker, bool on)
{
	return 0;
}

static inline void tracepoints_drop(struct marker_table *table)
{
}
#endif

/* Who else has to know that a marker is on: whoever leads to it. */
static inline int switch_outside(struct marker *marker, bool on)
{
	if (marker->flavour == MARKER_FUNCTION)
		return function_switch(marker, on);
	return marker->flavour == MARKER_TRACEPOINT ? tracepoint_switch(marker, on) : 0;
}

/* What the markers of a name need beside their values, before these are 1 and after they are 0. */
int all_before_on(struct marker_entry *entry);
void all_after_off(struct marker_entry *entry);

/* legacy.c */
bool is_2006(const struct marker_probe *probe);

#endif /* MARKERS_INTERNAL_H */
