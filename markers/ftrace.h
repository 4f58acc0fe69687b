/* SPDX-License-Identifier: GPL-2.0-only */
/* Markers at the entries of functions, called by ftrace; in the kernel only. */
#ifndef MARKERS_FTRACE_H
#define MARKERS_FTRACE_H

#include <linux/types.h>

#include <kmarkers/marker.h>

#ifdef __KERNEL__
#include <linux/ftrace.h>
#include <linux/kallsyms.h>
#include <linux/list.h>
#include <linux/module.h>

#define MARKER_FUNCTION_NAME	128

/**
 * struct function_marker - a marker at the entry of a function
 * @node: link in the list of all function markers
 * @marker: the marker, as registered under its name
 * @record: offset from the address of this field to @marker; the marker's struct marker_table has
 *	only this record
 * @ops: ftrace operations, registered while the marker is on
 * @name: the marker's name
 * @function: the function's name in kallsyms
 * @module: the module that contains the function, or "kernel"
 * @owner: the module that contains the function; for a function of the kernel, kmarkers_markers
 * @ready: true while the marker may have a trace event
 */
struct function_marker {
	struct list_head node;
	struct marker marker;
	s32 record;
	struct ftrace_ops ops;
	char name[MARKER_FUNCTION_NAME];
	char function[KSYM_NAME_LEN];
	char module[MODULE_NAME_LEN];
	struct module *owner;
	bool ready;
};

int marker_ftrace_prepare(struct function_marker *function, const char *symbol);
int marker_ftrace_switch(struct marker *marker, bool on);
int marker_ftrace_free(struct function_marker *function);

/*
 * Return the module that owns the trace event of a marker at a function; NULL if the marker may not
 * have a trace event, or is not at a function.
 */
static inline struct module *marker_ftrace_get_owner(const struct marker *marker)
{
	const struct function_marker *function;

	if (marker->flavour != MARKER_FUNCTION)
		return NULL;
	function = container_of(marker, struct function_marker, marker);
	return READ_ONCE(function->ready) ? function->owner : NULL;
}
#else
static inline int marker_ftrace_switch(struct marker *marker, bool on)
{
	return 0;
}

static inline struct module *marker_ftrace_get_owner(const struct marker *marker)
{
	return NULL;
}
#endif

#endif /* MARKERS_FTRACE_H */
