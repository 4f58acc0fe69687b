/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of markers as trace events: in the kernel only. */
#ifndef MARKERS_EVENTS_H
#define MARKERS_EVENTS_H

#include <linux/list.h>
#include <linux/trace_events.h>
#include <linux/tracepoint.h>
#include <linux/types.h>

struct marker;
struct module;
struct record_layout;

/**
 * struct marker_event - a name as a trace event
 * @node: in the hash of names
 * @list: while it is added or removed
 * @call: what the trace core knows
 * @class: of this event alone
 * @tracepoint: has the name for BPF; nothing calls it
 * @users: where its records go: struct event_user
 * @layout: of its records
 * @fields: the same for the trace core; ends with one of no type
 * @format: of its first marker
 * @leaves: the module that it belongs to takes it along
 * @name: the name
 */
struct marker_event {
	struct hlist_node node;
	struct list_head list;
	struct trace_event_call call;
	struct trace_event_class class;
	struct tracepoint tracepoint;
	struct list_head users;
	struct record_layout *layout;
	struct trace_event_fields *fields;
	char *format;
	bool leaves;
	char name[];
};

/**
 * struct event_user - a buffer of the trace core, or perf
 * @node: among those of its event
 * @event: the event
 * @file: the buffer; NULL for perf
 */
struct event_user {
	struct list_head node;
	struct marker_event *event;
	struct trace_event_file *file;
};

int marker_events_init(void);
void marker_events_come(struct module *module);
void marker_events_attach(const struct marker *marker, struct module *module);
int marker_events_detach(const char *name);
void marker_events_go(struct module *module);
void marker_events_gone(struct module *module);

#endif /* MARKERS_EVENTS_H */
