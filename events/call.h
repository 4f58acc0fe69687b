/* SPDX-License-Identifier: GPL-2.0-only */
/* A trace event that is created at run time; in the kernel only. */
#ifndef EVENTS_CALL_H
#define EVENTS_CALL_H

#include <linux/list.h>
#include <linux/trace_events.h>
#include <linux/tracepoint.h>
#include <linux/types.h>

#include <kmarkers/event.h>

/* Maximum number of arguments that a probe can get in registers, besides its private data. */
#define EVENT_REGISTERS	5

struct module;
struct record_layout;

/**
 * struct kmarkers_event - a trace event
 * @node: link in the hash table of events, or in the hash table of removed events kept for reuse
 * @source: event source (markers, SDT probes or recorded functions) that requested the event; NULL
 *	for an orphan whose source was unregistered
 * @list: link in a list of events that are to be added to the trace core or removed from it; empty
 *	if the event is in no such list
 * @call: the event as registered with the trace core
 * @class: event class, used by this event only
 * @tracepoint: tracepoint that gives the event its name for BPF, and is never hit
 * @users: list of struct event_user: the buffers that record the event, and perf
 * @layout: layout of the records; set when the event is first added to the trace core
 * @fields: array that describes the fields to the trace core; an element without type is the last
 * @owner: module that offers the event; NULL for an orphan, and after
 *	kmarkers_event_block_new_refs()
 * @added: true while the event is registered with the trace core
 * @was_added: true once the event has been registered with the trace core
 * @used: true once the event has been enabled; from then on, buffers may hold records of the event
 * @is_removed: true if the event is being removed, because no module offers the event; such an
 *	event cannot be enabled
 * @orphan: true if no module offers the event but the event is still referenced: see orphans.c
 * @offered_by: a module that offers the event, preferably the owner; NULL if there is none.  Valid
 *	only while the offers of a source are updated
 * @system: name of the event's system: the parent directory in tracefs
 * @format: marker format, such as "sector %llu", of the first offer
 * @name: name of the event
 */
struct kmarkers_event {
	struct hlist_node node;
	struct kmarkers_event_source *source;
	struct list_head list;
	struct trace_event_call call;
	struct trace_event_class class;
	struct tracepoint tracepoint;
	struct list_head users;
	struct record_layout *layout;
	struct trace_event_fields *fields;
	struct module *owner;
	bool added;
	bool was_added;
	bool used;
	bool is_removed;
	bool orphan;
	struct module *offered_by;
	char *system;
	char *format;
	char name[];
};

/**
 * struct event_user - a trace buffer that records an event, or perf
 * @node: link in the event's list of users
 * @batch: link in the batch of kmarkers_event_batch_begin(), or empty
 * @event: the event
 * @file: the trace core's data of the event in the buffer; NULL for perf
 * @owner: for perf, the owner of the event, to which the user holds a reference; NULL for a buffer
 * @register_writer: function that writes a record from arguments in CPU registers, or NULL
 * @bytes: size of a record that @register_writer writes, in bytes
 * @offsets: offsets of the fields in that record, in bytes
 * @connected: true if the source calls write() or probe() for the user
 * @failed: true if the user is not connected because connecting its batch failed
 * @err: error of the last attempt to connect the user for a trigger, which was logged; or 0
 */
struct event_user {
	struct list_head node;
	struct list_head batch;
	struct kmarkers_event *event;
	struct trace_event_file *file;
	struct module *owner;
	void *register_writer;
	u16 bytes;
	u16 offsets[EVENT_REGISTERS];
	bool connected;
	bool failed;
	int err;
};

/* Return an offer (a request for a trace event) with the system, name and format of an event. */
static inline struct kmarkers_event_offer
kmarkers_event_make_offer(const struct kmarkers_event *event)
{
	return (struct kmarkers_event_offer) {
		.system = event->system, .name = event->name, .format = event->format,
		.place = "", .module = event->owner,
	};
}

bool kmarkers_event_is_valid_offer(const struct kmarkers_event_offer *offer);
struct kmarkers_event *kmarkers_event_reuse_or_alloc(const struct kmarkers_event_offer *offer);
int kmarkers_event_find_core_functions(void);
int kmarkers_event_add_to_core(struct kmarkers_event *event);
int kmarkers_event_remove_from_core(struct kmarkers_event *event);
void kmarkers_event_set_owner(struct kmarkers_event *event, struct module *module);
void kmarkers_event_block_new_refs(struct kmarkers_event *event);
void kmarkers_event_leave_removal_to_core(struct kmarkers_event *event);
bool kmarkers_event_is_referenced(struct kmarkers_event *event);
bool kmarkers_event_is_in_use(struct kmarkers_event *event);
void kmarkers_event_free_or_keep_for_reuse(struct kmarkers_event *event);
void kmarkers_event_free_removed(void);

#endif /* EVENTS_CALL_H */
