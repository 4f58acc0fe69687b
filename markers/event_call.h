/* SPDX-License-Identifier: GPL-2.0-only */
/* A trace event that is created at run time; in the kernel only. */
#ifndef MARKERS_EVENT_CALL_H
#define MARKERS_EVENT_CALL_H

#include <linux/list.h>
#include <linux/trace_events.h>
#include <linux/tracepoint.h>
#include <linux/types.h>

#include <kmarkers/event.h>
#include <kmarkers/typed.h>

/* The trace system of markers: the directory of their events, below events/ in tracefs. */
#define EVENT_SYSTEM	"kmarkers"

/* Number of arguments that a probe can get in registers, besides its private data. */
#define EVENT_REGISTERS	5

struct module;
struct record_layout;

/**
 * struct marker_event - a trace event
 * @node: link in the hash table of events
 * @source: source that offers the event; NULL for an orphan whose source was unregistered
 * @list: link in a list of events to add to the trace core or to remove from it, else empty
 * @call: the event as registered with the trace core
 * @class: class of this event alone
 * @tracepoint: tracepoint that gives the event its name for BPF; it is never hit
 * @users: list of struct event_user: the buffers that record the event, and perf
 * @layout: layout of the records; set when the event is first added to the trace core
 * @fields: @layout in the form that the trace core reads; an element without type ends it
 * @owner: module that perf keeps loaded while it uses the event; NULL for an orphan, and for an
 *	event that waits to be removed
 * @added: the event is registered with the trace core
 * @known: the event is or was registered with the trace core
 * @used: the event is or was enabled, so a buffer may hold records of it
 * @leaves: the event is no longer offered and is to be removed; it cannot be enabled any more
 * @orphan: the event is no longer offered but was still referenced: see event_orphans.c
 * @offered: the event is still offered; valid only while the offers of a source are updated
 * @system: name of the directory of its system in tracefs
 * @format: format of the first offer
 * @name: name of the event
 */
struct marker_event {
	struct hlist_node node;
	struct marker_event_source *source;
	struct list_head list;
	struct trace_event_call call;
	struct trace_event_class class;
	struct tracepoint tracepoint;
	struct list_head users;
	struct record_layout *layout;
	struct trace_event_fields *fields;
	struct module *owner;
	bool added;
	bool known;
	bool used;
	bool leaves;
	bool orphan;
	bool offered;
	char *system;
	char *format;
	char name[];
};

/**
 * struct event_user - a trace buffer that records an event, or perf
 * @node: link in the event's list of users
 * @event: the event
 * @file: the event in a trace buffer; NULL for perf
 * @owner: the module that perf keeps loaded; NULL for a buffer
 * @register_writer: function that writes a record from arguments in registers, or NULL
 * @bytes: size of a record of @register_writer, in bytes
 * @offsets: offsets of the fields of such a record, in bytes
 */
struct event_user {
	struct list_head node;
	struct marker_event *event;
	struct trace_event_file *file;
	struct module *owner;
	marker_typed_func *register_writer;
	u16 bytes;
	u16 offsets[EVENT_REGISTERS];
};

/* Return the offer by which a source finds the object of an event. */
static inline struct marker_event_offer marker_event_offer(const struct marker_event *event)
{
	return (struct marker_event_offer) {
		.system = event->system, .name = event->name, .format = event->format,
		.place = "", .module = event->owner,
	};
}

bool marker_event_is_valid_offer(const struct marker_event_offer *offer);
struct marker_event *marker_event_make(const struct marker_event_offer *offer);
int marker_event_find_calls(void);
int marker_event_add(struct marker_event *event);
int marker_event_remove(struct marker_event *event);
void marker_event_set_owner(struct marker_event *event, struct module *module);
void marker_event_close(struct marker_event *event);
void marker_event_leave_to_core(struct marker_event *event);
bool marker_event_is_held(struct marker_event *event);
void marker_event_free(struct marker_event *event);
void marker_event_free_kept(void);

#endif /* MARKERS_EVENT_CALL_H */
