// SPDX-License-Identifier: GPL-2.0-only
/*
 * Define the fields of a trace event, print records of the event, add the event to the trace core
 * and remove the event. All functions but print_record() are called with event_mutex held, or from
 * init and exit.
 *
 * A program that has opened the tracefs file "format" of an event may read this file after the
 * event was removed, and some kernels then read the struct trace_event_call. So an event that was
 * added to the trace core is not freed when it is removed. This module keeps the removed event
 * until this module is unloaded, and reuses the event if it is offered a second time.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/hashtable.h>
#include <linux/init.h>
#include <linux/jhash.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/trace_seq.h>

#include <compat/events.h>
#include <kmarkers/redirect.h>
#include <kmarkers/words.h>

#include "call.h"
#include "format.h"
#include "layout.h"
#include "users.h"

#define NAME_MOST	64

/*
 * Maximum length of a record's text, in bytes. A text of this length, and the text that the trace
 * core prints in front of it, fit into 4096 bytes.
 */
#define TEXT_MOST	3584

#define KEPT_BITS	10

/* Hash table of removed events, kept for reuse. */
static DEFINE_HASHTABLE(kept, KEPT_BITS);

/*
 * Module of events that must get no new references: try_module_get() always fails for a module in
 * MODULE_STATE_GOING.
 */
static struct module departed = { .state = MODULE_STATE_GOING };

/*
 * Print the text of a record. If the text does not fit into the rest of @to, print nothing and mark
 * @to as full; the trace core then prints the record again, into an empty buffer. A text longer
 * than TEXT_MOST is truncated, and ends in three dots.
 */
static void print_record_text(struct trace_seq *to, const struct kmarkers_event *event,
			      const unsigned long *slots)
{
	static const char dots[] = "...";
	unsigned int nr;
	size_t size;
	char *text;

	if (to->full)
		return;
	size = min_t(size_t, seq_buf_get_buf(&to->seq, &text), TEXT_MOST);
	nr = size ? kmarkers_format_print(text, size, event->format, slots) : 0;
	if (nr + 1 >= size && size < TEXT_MOST) {
		to->full = 1;
		return;
	}
	if (nr + 1 >= size)
		memcpy(text + nr - strlen(dots), dots, strlen(dots));
	seq_buf_commit(&to->seq, nr);
}

/*
 * Print a record, for the tracefs files "trace" and "trace_pipe". A buffer may still hold records
 * of a removed event that had the same type number as this event. So check that the record can have
 * the layout of this event.
 */
static enum print_line_t print_record(struct trace_iterator *iter, int flags,
				      struct trace_event *type)
{
	struct kmarkers_event *event = container_of(type, struct kmarkers_event, call.event);
	unsigned long slots[MARKER_MAX_ARGS];

	trace_seq_printf(&iter->seq, "%s: ", event->name);
	/*
	 * If the trace core prints the record to the kernel's log (tp_printk), ent_size is 0: pass
	 * the maximum size instead.
	 */
	if (kmarkers_layout_read_record(event->layout, iter->ent, iter->ent_size ?: LAYOUT_RECORD,
					slots))
		print_record_text(&iter->seq, event, slots);
	else
		trace_seq_puts(&iter->seq, "(record of another event)");
	trace_seq_putc(&iter->seq, '\n');
	return trace_handle_return(&iter->seq);
}

static struct trace_event_functions functions = { .trace = print_record };

/*
 * Allocate the array that describes the fields of an event to the trace core. From the sizes and
 * alignments in this array the trace core computes the same field offsets as layout.c.
 */
static int make_trace_fields(struct kmarkers_event *event)
{
	const struct record_layout *layout = event->layout;
	unsigned int i;

	event->fields = kcalloc(layout->nr + 1, sizeof(*event->fields), GFP_KERNEL);
	if (!event->fields)
		return -ENOMEM;
	for (i = 0; i < layout->nr; i++) {
		const struct layout_field *field = &layout->field[i];
		struct trace_event_fields known = {
			.type = field->type, .name = field->name, .size = field->bytes,
			.align = kmarkers_field_get_alignment(field), .is_signed = field->is_signed,
			.filter_type = FILTER_OTHER,
			COMPAT_ARRAY_LENGTH(field->is_array ? field->bytes : 0)
		};

		memcpy(&event->fields[i], &known, sizeof(known));
	}
	return 0;
}

static void init_event_call(struct kmarkers_event *event)
{
	memset(&event->call, 0, sizeof(event->call));
	event->tracepoint.name = event->name;
	event->class = (struct trace_event_class) {
		.system = event->system, .reg = kmarkers_event_reg,
		.raw_init = trace_event_raw_init,
		.fields_array = event->fields, .fields = LIST_HEAD_INIT(event->class.fields),
	};
	event->call.class = &event->class;
	event->call.tp = &event->tracepoint;
	event->call.flags = TRACE_EVENT_FL_TRACEPOINT | COMPAT_EVENT_COUNTED;
	event->call.event.funcs = &functions;
	event->call.print_fmt = event->layout->print_fmt;
}

static int make_layout_and_init_call(struct kmarkers_event *event)
{
	struct record_layout *layout;

	if (event->was_added) {
		init_event_call(event);
		return 0;
	}
	layout = kmarkers_layout_make(event->format, sizeof(struct trace_entry));
	if (IS_ERR(layout))
		return PTR_ERR(layout);
	event->layout = layout;
	if (make_trace_fields(event))
		return -ENOMEM;
	init_event_call(event);
	return 0;
}

static bool is_valid_event_name(const char *name)
{
	return patcher_is_identifier(name) && strlen(name) < NAME_MOST;
}

/*
 * Return true if an offer, a source's request for a trace event, has a valid system and name. In
 * tracefs, the directory of an event is beside the files "enable" and "filter", so no event may
 * have one of these names.
 */
bool kmarkers_event_is_valid_offer(const struct kmarkers_event_offer *offer)
{
	if (!strcmp(offer->name, "enable") || !strcmp(offer->name, "filter"))
		return false;
	return is_valid_event_name(offer->system) && is_valid_event_name(offer->name);
}

static u32 hash_removed_event_name(const char *name)
{
	return jhash(name, strlen(name), 0);
}

static struct kmarkers_event *reuse_removed_event(const struct kmarkers_event_offer *offer)
{
	struct kmarkers_event *event;

	hash_for_each_possible(kept, event, node, hash_removed_event_name(offer->name)) {
		if (strcmp(event->name, offer->name) || strcmp(event->system, offer->system) ||
		    strcmp(event->format, offer->format))
			continue;
		hash_del(&event->node);
		event->used = false;
		event->is_removed = false;
		event->orphan = false;
		return event;
	}
	return NULL;
}

static struct kmarkers_event *alloc_event(const struct kmarkers_event_offer *offer)
{
	size_t name = strlen(offer->name) + 1, format = strlen(offer->format) + 1;
	struct kmarkers_event *event;

	event = kzalloc(sizeof(*event) + name + format + strlen(offer->system) + 1, GFP_KERNEL);
	if (!event)
		return NULL;
	event->format = event->name + name;
	event->system = event->format + format;
	strcpy(event->name, offer->name);
	strcpy(event->format, offer->format);
	strcpy(event->system, offer->system);
	INIT_LIST_HEAD(&event->list);
	INIT_LIST_HEAD(&event->users);
	return event;
}

/*
 * Reuse the removed event that equals an offer (a request for an event), or allocate an event.
 * kmarkers_event_add_to_core() makes the event's record layout later, because insmod waits for this
 * function. Return NULL if there is no memory.
 */
struct kmarkers_event *kmarkers_event_reuse_or_alloc(const struct kmarkers_event_offer *offer)
{
	struct kmarkers_event *event = reuse_removed_event(offer) ?: alloc_event(offer);

	if (event)
		event->owner = offer->module;
	return event;
}

/**
 * kmarkers_event_add_to_core() - add an event to the trace core
 * @event: the event, whose owner is set
 *
 * Return: 0; -EINVAL for a format that cannot be printed; -E2BIG if the event has too many
 * arguments or the arguments are too long; -ENOMEM; or an error of the trace core.
 */
int kmarkers_event_add_to_core(struct kmarkers_event *event)
{
	int err = make_layout_and_init_call(event) ?: trace_add_event_call(&event->call);

	if (err)
		return err;
	event->added = true;
	event->was_added = true;
	/*
	 * In kernels without reference counts of events, trace_add_event_call() has set the module
	 * of the event to NULL, so set this module to the owner.
	 */
	kmarkers_event_set_owner(event, event->owner);
	return 0;
}

/*
 * Remove an event from the trace core. Return 0, or -EBUSY if a buffer or perf has enabled the
 * event.
 */
int kmarkers_event_remove_from_core(struct kmarkers_event *event)
{
	int err = trace_remove_event_call(&event->call);

	if (!err)
		event->added = false;
	return err;
}

/*
 * Set the module that owns an event, and undo kmarkers_event_block_new_refs(). References to the
 * event stay valid.
 */
void kmarkers_event_set_owner(struct kmarkers_event *event, struct module *module)
{
	event->owner = module;
	if (!event->added)
		return;
	compat_event_use_own_refs(&event->call, module);
	event->call.flags &= ~TRACE_EVENT_FL_IGNORE_ENABLE;
}

/*
 * Detach an unreferenced event from its module, before the event is removed. From then on no task
 * can take a reference to the event, and writing to the file "enable" of the system does not enable
 * the event.
 */
void kmarkers_event_block_new_refs(struct kmarkers_event *event)
{
	event->owner = NULL;
	compat_event_use_module_refs(&event->call, &departed);
	event->call.flags |= TRACE_EVENT_FL_IGNORE_ENABLE;
}

/*
 * Register the owner of an unreferenced event as the event's module in the trace core. The owner is
 * being unloaded, so the trace core's module notifier then removes the event.
 */
void kmarkers_event_leave_removal_to_core(struct kmarkers_event *event)
{
	compat_event_use_module_refs(&event->call, event->owner);
}

/* Return true if the event is referenced, for instance by an event probe: see orphans.c. */
bool kmarkers_event_is_referenced(struct kmarkers_event *event)
{
	return event->added && compat_event_is_referenced(&event->call);
}

/* Return true if the event is enabled or referenced. */
bool kmarkers_event_is_in_use(struct kmarkers_event *event)
{
	return !list_empty(&event->users) || kmarkers_event_is_referenced(event);
}

/* Look up trace_add_event_call() and trace_remove_event_call(). Return 0 or -ENOENT. */
int __init kmarkers_event_find_core_functions(void)
{
	return compat_find_event_calls(patcher_find_symbol);
}

static void free_event_memory(struct kmarkers_event *event)
{
	if (event->layout)
		kmarkers_layout_free(event->layout);
	kfree(event->fields);
	kfree(event);
}

/* Free an event that was never added to the trace core; keep any other event for reuse. */
void kmarkers_event_free_or_keep_for_reuse(struct kmarkers_event *event)
{
	kmarkers_event_remove_users(event);
	/* The trace core's module notifier removes an event without clearing @added. */
	event->added = false;
	if (event->was_added)
		hash_add(kept, &event->node, hash_removed_event_name(event->name));
	else
		free_event_memory(event);
}

/* Free the removed events that were kept for reuse. */
void kmarkers_event_free_removed(void)
{
	struct kmarkers_event *event;
	struct hlist_node *next;
	int bucket;

	hash_for_each_safe(kept, bucket, next, event, node)
		free_event_memory(event);
}
