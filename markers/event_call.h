/* SPDX-License-Identifier: GPL-2.0-only */
/* A trace event; in the kernel only. */
#ifndef MARKERS_EVENT_CALL_H
#define MARKERS_EVENT_CALL_H

#include <linux/list.h>
#include <linux/trace_events.h>
#include <linux/tracepoint.h>
#include <linux/types.h>

#include <kmarkers/event.h>
#include <kmarkers/typed.h>

/* The trace system of marker events. */
#define EVENT_SYSTEM	"kmarkers"

/* The number of a probe's arguments in registers, after its private data. */
#define EVENT_REGISTERS	5

struct module;
struct record_layout;

/**
 * struct marker_event - a trace event
 * @node: in the hash of names
 * @source: who offers it; NULL for an orphan whose source has left
 * @list: among those that are to be added or removed, if it is
 * @call: what the trace core knows
 * @class: of this event alone
 * @tracepoint: has the name for BPF; nothing calls it
 * @users: where its records go: struct event_user
 * @layout: of its records, once it was added
 * @fields: the same for the trace core; ends with one of no type
 * @owner: the module that perf keeps loaded while it uses the event; NULL if there is none,
 *	and the event waits to be removed or is an orphan
 * @added: the trace core knows it
 * @known: the trace core has known it
 * @used: it was on, so a buffer may hold records of it
 * @leaves: its last module leaves or has left; it cannot be switched on any more
 * @orphan: its last module has left while somebody had a reference to it: see event_orphans.c
 * @offered: it is offered still; of use during marker_events_update() alone
 * @system: its directory
 * @format: of what was offered first
 * @name: the name
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
 * @node: among those of its event
 * @event: the event
 * @file: the buffer; NULL for perf
 * @owner: the module that perf keeps loaded; NULL for a buffer
 * @register_writer: the writer that takes arguments in registers, or NULL
 * @bytes: of a record that @register_writer writes
 * @offsets: of its fields
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

/* The source's data of an event. */
static inline struct marker_event_offer marker_event_offer(const struct marker_event *event)
{
	return (struct marker_event_offer) {
		.system = event->system, .name = event->name, .format = event->format,
		.place = "", .module = event->owner,
	};
}

bool marker_event_can_have(const struct marker_event_offer *offer);
struct marker_event *marker_event_make(const struct marker_event_offer *offer);
int marker_event_find_calls(void);
int marker_event_add(struct marker_event *event);
int marker_event_remove(struct marker_event *event);
void marker_event_own(struct marker_event *event, struct module *module);
void marker_event_close(struct marker_event *event);
void marker_event_leave_to_core(struct marker_event *event);
bool marker_event_is_held(struct marker_event *event);
void marker_event_free(struct marker_event *event);
void marker_event_free_kept(void);

#endif /* MARKERS_EVENT_CALL_H */
