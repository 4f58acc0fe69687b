// SPDX-License-Identifier: GPL-2.0-only
/*
 * One trace event: its fields, how its records are printed, and its way into the trace
 * core and out again.  The caller holds event_mutex.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <compat/events.h>
#include <kmarkers/redirect.h>
#include <kmarkers/words.h>

#include "event_call.h"
#include "event_users.h"
#include "format.h"
#include "layout.h"

#define NAME_MOST	64

/* What try_module_get() refuses. */
static struct module departed = { .state = MODULE_STATE_GOING };

static void print_slots(struct seq_buf *to, const struct marker_event *event,
			const unsigned long *slots)
{
	char *text;
	size_t room = seq_buf_get_buf(to, &text);

	if (room)
		seq_buf_commit(to, marker_format_print_slots(text, room, event->format, slots));
}

/*
 * A buffer that was not emptied when an event was removed may hold its records, whose
 * number may now be that of another event.
 */
static enum print_line_t print_record(struct trace_iterator *iter, int flags,
				      struct trace_event *known)
{
	struct marker_event *event = container_of(known, struct marker_event, call.event);
	unsigned long slots[MARKER_MAX_ARGS];

	trace_seq_printf(&iter->seq, "%s: ", event->name);
	/* A record that goes to the kernel's log as well (tp_printk) comes without its size. */
	if (marker_layout_read(event->layout, iter->ent, iter->ent_size ?: LAYOUT_RECORD, slots))
		print_slots(&iter->seq.seq, event, slots);
	else
		trace_seq_puts(&iter->seq, "(record of another event)");
	trace_seq_putc(&iter->seq, '\n');
	return trace_handle_return(&iter->seq);
}

static struct trace_event_functions functions = { .trace = print_record };

/* As the trace core wants them, which aligns them as we do. */
static int make_fields(struct marker_event *event)
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
			.align = marker_field_align(field), .is_signed = field->is_signed,
			.filter_type = FILTER_OTHER,
			COMPAT_ARRAY_LENGTH(field->is_array ? field->bytes : 0)
		};

		memcpy(&event->fields[i], &known, sizeof(known));
	}
	return 0;
}

static void fill_call(struct marker_event *event)
{
	event->tracepoint.name = event->name;
	event->class = (struct trace_event_class) {
		.system = "kmarkers", .reg = marker_event_reg, .raw_init = trace_event_raw_init,
		.fields_array = event->fields, .fields = LIST_HEAD_INIT(event->class.fields),
	};
	event->call.class = &event->class;
	event->call.tp = &event->tracepoint;
	event->call.flags = TRACE_EVENT_FL_TRACEPOINT;
	event->call.event.funcs = &functions;
	event->call.print_fmt = event->layout->print_fmt;
}

static int fill_event(struct marker_event *event)
{
	struct record_layout *layout;

	layout = marker_layout_make(event->format, sizeof(struct trace_entry));
	if (IS_ERR(layout))
		return PTR_ERR(layout);
	event->layout = layout;
	if (make_fields(event))
		return -ENOMEM;
	fill_call(event);
	return 0;
}

/* The directory of an event can have any name but those of the files beside it. */
bool marker_event_can_have(const char *name)
{
	return strcmp(name, "enable") && strcmp(name, "filter") && strcmp(name, "marker") &&
	       patcher_is_identifier(name) && strlen(name) < NAME_MOST;
}

/* Little is made of a name at first, because this is done while its module is loaded. */
struct marker_event *marker_event_make(const char *name, const char *format)
{
	size_t bytes = strlen(name) + 1;
	struct marker_event *event;

	event = kzalloc(sizeof(*event) + bytes + strlen(format) + 1, GFP_KERNEL);
	if (!event)
		return NULL;
	event->format = event->name + bytes;
	strcpy(event->name, name);
	strcpy(event->format, format);
	INIT_LIST_HEAD(&event->list);
	INIT_LIST_HEAD(&event->users);
	return event;
}

/**
 * marker_event_add() - add an event to the trace core
 * @event: the event, with its owner
 *
 * Return: 0; -EINVAL for a format that cannot be printed; -E2BIG for too many or too long arguments;
 * -ENOMEM; or an error of the trace core.
 */
int marker_event_add(struct marker_event *event)
{
	int err = fill_event(event) ?: trace_add_event_call(&event->call);

	if (err)
		return err;
	event->added = true;
	/* The trace core takes an event that is added by a call for one of no module. */
	marker_event_own(event, event->owner);
	return 0;
}

/* Return 0; or -EBUSY if a buffer or perf has the event on. */
int marker_event_remove(struct marker_event *event)
{
	int err = trace_remove_event_call(&event->call);

	if (!err)
		event->added = false;
	return err;
}

/*
 * Make an event that of a module, or with NULL of none.  Then nobody gets a reference to
 * it, and writes to events/kmarkers/enable pass over it.
 */
void marker_event_own(struct marker_event *event, struct module *module)
{
	event->owner = module;
	if (!event->added)
		return;
	event->call.compat_event_module = module ?: &departed;
	if (module)
		event->call.flags &= ~TRACE_EVENT_FL_IGNORE_ENABLE;
	else
		event->call.flags |= TRACE_EVENT_FL_IGNORE_ENABLE;
}

/* Return 0; or -ENOENT if this kernel has no call that adds an event or removes it. */
int __init marker_event_find_calls(void)
{
	return compat_find_event_calls(patcher_find_symbol);
}

/* Free an event that the trace core does not know, or has forgotten. */
void marker_event_free(struct marker_event *event)
{
	marker_event_drop_users(event);
	if (event->layout)
		marker_layout_free(event->layout);
	kfree(event->fields);
	kfree(event);
}
