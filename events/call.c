// SPDX-License-Identifier: GPL-2.0-only
/*
 * A trace event: defining its fields, printing its records, and adding it to the trace core and
 * removing it. The caller holds event_mutex.
 *
 * A program that has opened the tracefs file "format" of an event may read it after the event was
 * removed, and some kernels then read the struct trace_event_call. So an event that was added to
 * the trace core is not freed after its removal, but reused when the same event is offered again.
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
#include "users.h"
#include "format.h"
#include "layout.h"

#define NAME_MOST	64

/* Longest text of a record in bytes: it and the trace core's text before it fit into 4096 bytes. */
#define TEXT_MOST	3584

#define KEPT_BITS	10

/* Removed events, kept for reuse. */
static DEFINE_HASHTABLE(kept, KEPT_BITS);

/* A module for which try_module_get() fails. */
static struct module departed = { .state = MODULE_STATE_GOING };

/*
 * Print the whole text of a record, or nothing, so that the trace core retries with more room. A
 * text longer than TEXT_MOST is cut, and ends in dots.
 */
static void print_slots(struct trace_seq *to, const struct kmarkers_event *event,
			const unsigned long *slots)
{
	static const char dots[] = "...";
	unsigned int nr;
	size_t room;
	char *text;

	if (to->full)
		return;
	room = min_t(size_t, seq_buf_get_buf(&to->seq, &text), TEXT_MOST);
	nr = room ? kmarkers_format_print_slots(text, room, event->format, slots) : 0;
	if (nr + 1 >= room && room < TEXT_MOST) {
		to->full = 1;
		return;
	}
	if (nr + 1 >= room)
		memcpy(text + nr - strlen(dots), dots, strlen(dots));
	seq_buf_commit(&to->seq, nr);
}

/*
 * Print a record, for the files trace and trace_pipe. A buffer that was not emptied when an event
 * was removed may hold records of it, whose type number may now be that of another event.
 */
static enum print_line_t print_record(struct trace_iterator *iter, int flags,
				      struct trace_event *known)
{
	struct kmarkers_event *event = container_of(known, struct kmarkers_event, call.event);
	unsigned long slots[MARKER_MAX_ARGS];

	trace_seq_printf(&iter->seq, "%s: ", event->name);
	/* For a record that is printed to the kernel's log, too (tp_printk), ent_size is 0. */
	if (kmarkers_layout_read(event->layout, iter->ent, iter->ent_size ?: LAYOUT_RECORD, slots))
		print_slots(&iter->seq, event, slots);
	else
		trace_seq_puts(&iter->seq, "(record of another event)");
	trace_seq_putc(&iter->seq, '\n');
	return trace_handle_return(&iter->seq);
}

static struct trace_event_functions functions = { .trace = print_record };

/* Make the array of fields for the trace core, which computes the same offsets as layout.c. */
static int make_fields(struct kmarkers_event *event)
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
			.align = kmarkers_field_align(field), .is_signed = field->is_signed,
			.filter_type = FILTER_OTHER,
			COMPAT_ARRAY_LENGTH(field->is_array ? field->bytes : 0)
		};

		memcpy(&event->fields[i], &known, sizeof(known));
	}
	return 0;
}

static void fill_call(struct kmarkers_event *event)
{
	memset(&event->call, 0, sizeof(event->call));
	event->tracepoint.name = event->name;
	event->class = (struct trace_event_class) {
		.system = event->system, .reg = kmarkers_event_reg, .raw_init = trace_event_raw_init,
		.fields_array = event->fields, .fields = LIST_HEAD_INIT(event->class.fields),
	};
	event->call.class = &event->class;
	event->call.tp = &event->tracepoint;
	event->call.flags = TRACE_EVENT_FL_TRACEPOINT | COMPAT_EVENT_COUNTED;
	event->call.event.funcs = &functions;
	event->call.print_fmt = event->layout->print_fmt;
}

static int fill_event(struct kmarkers_event *event)
{
	struct record_layout *layout;

	if (event->known) {
		fill_call(event);
		return 0;
	}
	layout = kmarkers_layout_make(event->format, sizeof(struct trace_entry));
	if (IS_ERR(layout))
		return PTR_ERR(layout);
	event->layout = layout;
	if (make_fields(event))
		return -ENOMEM;
	fill_call(event);
	return 0;
}

static bool is_event_name(const char *name)
{
	return patcher_is_identifier(name) && strlen(name) < NAME_MOST;
}

/*
 * Return true if the system and the name of an offer are valid. The name must not be that of
 * another entry of the event's parent directory: the files enable and filter.
 */
bool kmarkers_event_is_valid_offer(const struct kmarkers_event_offer *offer)
{
	if (!strcmp(offer->name, "enable") || !strcmp(offer->name, "filter"))
		return false;
	return is_event_name(offer->system) && is_event_name(offer->name);
}

static u32 key_of(const char *name)
{
	return jhash(name, strlen(name), 0);
}

static struct kmarkers_event *take_kept_event(const struct kmarkers_event_offer *offer)
{
	struct kmarkers_event *event;

	hash_for_each_possible(kept, event, node, key_of(offer->name)) {
		if (strcmp(event->name, offer->name) || strcmp(event->system, offer->system) ||
		    strcmp(event->format, offer->format))
			continue;
		hash_del(&event->node);
		/* The trace core may have removed the event already. */
		event->added = false;
		event->used = false;
		event->leaves = false;
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
 * Take a kept event for an offer, or allocate one, without its layout: insmod waits for this.
 * Return NULL if there is no memory.
 */
struct kmarkers_event *kmarkers_event_make(const struct kmarkers_event_offer *offer)
{
	struct kmarkers_event *event = take_kept_event(offer) ?: alloc_event(offer);

	if (event)
		event->owner = offer->module;
	return event;
}

/**
 * kmarkers_event_add() - add an event to the trace core
 * @event: the event, with its owner
 *
 * Return: 0; -EINVAL for a format that cannot be printed; -E2BIG for too many or too long
 * arguments; -ENOMEM; or an error of the trace core.
 */
int kmarkers_event_add(struct kmarkers_event *event)
{
	int err = fill_event(event) ?: trace_add_event_call(&event->call);

	if (err)
		return err;
	event->added = true;
	event->known = true;
	/* Without reference counts in events, trace_add_event_call() has cleared the module. */
	kmarkers_event_set_owner(event, event->owner);
	return 0;
}

/* Remove an event from the trace core. Return 0; or -EBUSY if a buffer or perf has it enabled. */
int kmarkers_event_remove(struct kmarkers_event *event)
{
	int err = trace_remove_event_call(&event->call);

	if (!err)
		event->added = false;
	return err;
}

/* Change the module that owns an event. References to the event are kept. */
void kmarkers_event_set_owner(struct kmarkers_event *event, struct module *module)
{
	event->owner = module;
	if (!event->added)
		return;
	compat_event_count(&event->call, module);
	event->call.flags &= ~TRACE_EVENT_FL_IGNORE_ENABLE;
}

/*
 * Detach an event without references from its module, before it is removed. From then on no
 * reference to it can be taken, and a write to the file enable of its system skips it.
 */
void kmarkers_event_close(struct kmarkers_event *event)
{
	event->owner = NULL;
	compat_event_uncount(&event->call, &departed);
	event->call.flags |= TRACE_EVENT_FL_IGNORE_ENABLE;
}

/*
 * Let the trace core remove an event without references, in its own module notifier for the event's
 * owner.
 */
void kmarkers_event_leave_to_core(struct kmarkers_event *event)
{
	compat_event_uncount(&event->call, event->owner);
}

/* Return true if the event is referenced, for instance by an event probe: see orphans.c. */
bool kmarkers_event_is_held(struct kmarkers_event *event)
{
	return event->added && compat_event_is_held(&event->call);
}

/* Look up trace_add_event_call() and trace_remove_event_call(). Return 0 or -ENOENT. */
int __init kmarkers_event_find_calls(void)
{
	return compat_find_event_calls(patcher_find_symbol);
}

static void free_event(struct kmarkers_event *event)
{
	if (event->layout)
		kmarkers_layout_free(event->layout);
	kfree(event->fields);
	kfree(event);
}

/* Free an event that was never added to the trace core; keep any other for reuse. */
void kmarkers_event_free(struct kmarkers_event *event)
{
	kmarkers_event_drop_users(event);
	if (event->known)
		hash_add(kept, &event->node, key_of(event->name));
	else
		free_event(event);
}

/* Free the kept events. */
void kmarkers_event_free_kept(void)
{
	struct kmarkers_event *event;
	struct hlist_node *next;
	int bucket;

	hash_for_each_safe(kept, bucket, next, event, node)
		free_event(event);
}
