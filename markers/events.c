// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names of markers as trace events.
 *
 * One name is one event, of the format that its first marker has.  The trace core has
 * it as the event of a module: of one that has such a marker.  So perf keeps this
 * module loaded, and the trace core switches the event off, and forgets it, when the
 * module leaves.  If another module has a marker of the name, the event is handed on
 * to that before.
 *
 * A module's events come last of all when it is loaded, and what is left of them goes
 * last when it leaves: the trace core's notifier is between that of markers and ours.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <compat/events.h>
#include <kmarkers/marker.h>
#include <kmarkers/redirect.h>
#include <kmarkers/words.h>

#include "event_users.h"
#include "events.h"
#include "format.h"
#include "layout.h"
#include "look.h"
#include "tables.h"

#define NAME_BITS	10
#define NAME_MOST	64

static struct {
	struct mutex *lock;	/* the kernel's event_mutex, before that of the registry */
	DECLARE_HASHTABLE(names, NAME_BITS);
} events;

static struct marker_event *find_event(const char *name)
{
	struct marker_event *event;

	hash_for_each_possible(events.names, event, node, jhash(name, strlen(name), 0))
		if (!strcmp(event->name, name))
			return event;
	return NULL;
}

/* Where the directory of an event would be is something else. */
static bool is_taken(const char *name)
{
	return !strcmp(name, "enable") || !strcmp(name, "filter") || !strcmp(name, "marker");
}

static void print_text(struct seq_buf *to, const struct marker_event *event, const void *record)
{
	unsigned long slots[MARKER_MAX_ARGS];
	char *text;
	size_t room = seq_buf_get_buf(to, &text);

	if (!room)
		return;
	marker_layout_read(event->layout, record, slots);
	seq_buf_commit(to, marker_format_print_slots(text, room, event->format, slots));
}

static enum print_line_t print_record(struct trace_iterator *iter, int flags,
				      struct trace_event *known)
{
	struct marker_event *event = container_of(known, struct marker_event, call.event);

	trace_seq_printf(&iter->seq, "%s: ", event->name);
	print_text(&iter->seq.seq, event, iter->ent);
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
			.align = field->bytes, .is_signed = field->is_signed,
			.filter_type = FILTER_OTHER,
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

static int fill_event(struct marker_event *event, const struct marker *marker)
{
	event->layout = marker_layout_make(marker->format, sizeof(struct trace_entry));
	if (IS_ERR(event->layout))
		return PTR_ERR(event->layout);
	event->format = kstrdup(marker->format, GFP_KERNEL);
	if (!event->format || make_fields(event))
		return -ENOMEM;
	fill_call(event);
	return 0;
}

static void free_event(struct marker_event *event)
{
	if (!IS_ERR_OR_NULL(event->layout))
		marker_layout_free(event->layout);
	kfree(event->fields);
	kfree(event->format);
	kfree(event);
}

static struct marker_event *make_event(const struct marker *marker)
{
	struct marker_event *event;
	int err;

	if (is_taken(marker->name) || !patcher_is_identifier(marker->name) ||
	    strlen(marker->name) >= NAME_MOST)
		return ERR_PTR(-EEXIST);
	event = kzalloc(sizeof(*event) + strlen(marker->name) + 1, GFP_KERNEL);
	if (!event)
		return ERR_PTR(-ENOMEM);
	strcpy(event->name, marker->name);
	INIT_LIST_HEAD(&event->users);
	err = fill_event(event, marker);
	if (!err)
		return event;
	free_event(event);
	return ERR_PTR(err);
}

static void say_why(const struct marker *marker, int err)
{
	pr_warn("%.64s in %s(): no trace event: %s\n", marker->name, marker->func,
		err == -EEXIST ? "its name cannot be one" :
		err == -EINVAL ? "format cannot be printed" :
		err == -E2BIG ? "too many arguments" : "no memory");
}

/* The markers of a module that is loaded, or one of a function. */
struct newcomers {
	struct module *module;
	struct list_head events;
};

static int meet_event(const struct newcomers *newcomers, struct marker_event *event,
		      const struct marker *marker)
{
	if (strcmp(event->format, marker->format))
		pr_warn("%s in %s(): format \"%s\" is not \"%s\", that of its trace event: stays off there\n",
			marker->name, marker->func, marker->format, event->format);
	if (event->leaves) {
		event->leaves = false;
		event->call.compat_event_module = newcomers->module;
	}
	return 0;
}

/* Under the lock of the registry: what is new is added later. */
static int note_marker(void *data, const struct marker *marker)
{
	struct marker_event *event = find_event(marker->name);
	struct newcomers *newcomers = data;

	if (event)
		return meet_event(newcomers, event, marker);
	event = make_event(marker);
	if (IS_ERR(event)) {
		say_why(marker, PTR_ERR(event));
		return 0;
	}
	hash_add(events.names, &event->node, jhash(event->name, strlen(event->name), 0));
	list_add_tail(&event->list, &newcomers->events);
	return 0;
}

/* The trace core takes an event that comes by itself for one of no module. */
static void add_event(struct marker_event *event, struct module *module)
{
	int err = trace_add_event_call(&event->call);

	if (err) {
		pr_warn("%s: no trace event: error %d\n", event->name, err);
		hash_del(&event->node);
		free_event(event);
		return;
	}
	event->call.compat_event_module = module;
}

static void add_events(struct newcomers *newcomers)
{
	struct marker_event *event, *next;

	list_for_each_entry_safe(event, next, &newcomers->events, list)
		add_event(event, newcomers->module);
}

/**
 * marker_events_come() - make events of the markers of a module
 * @module: the module being loaded, which everybody has taken over
 *
 * A marker that gets no event works without; the log says why.
 *
 * Context: may sleep.
 */
void marker_events_come(struct module *module)
{
	struct newcomers newcomers = {
		.module = module, .events = LIST_HEAD_INIT(newcomers.events),
	};

	if (!events.lock)
		return;
	mutex_lock(events.lock);
	marker_tables_ready(module);
	marker_visit(NULL, module, note_marker, &newcomers);
	add_events(&newcomers);
	mutex_unlock(events.lock);
}

/**
 * marker_events_attach() - make an event of a marker that root put on a function
 * @marker: the marker
 * @module: whose function it is; of the kernel's, ours
 *
 * Context: may sleep.
 */
void marker_events_attach(const struct marker *marker, struct module *module)
{
	struct newcomers newcomers = {
		.module = module, .events = LIST_HEAD_INIT(newcomers.events),
	};

	if (!events.lock)
		return;
	mutex_lock(events.lock);
	note_marker(&newcomers, marker);
	add_events(&newcomers);
	mutex_unlock(events.lock);
}

static void forget_event(struct marker_event *event)
{
	hash_del(&event->node);
	marker_event_drop_users(event);
	free_event(event);
}

/* To another module, or away. */
static int give_away(struct marker_event *event)
{
	struct module *next = marker_ready_module(event->name);
	int err;

	if (next) {
		event->call.compat_event_module = next;
		return 0;
	}
	err = trace_remove_event_call(&event->call);
	if (!err)
		forget_event(event);
	return err;
}

/**
 * marker_events_detach() - let go of the event of a function's marker, which is to leave
 * @name: the marker's name
 *
 * Context: may sleep.
 * Return: 0; or -EBUSY if no other marker has the name and somebody has its event on.
 */
int marker_events_detach(const char *name)
{
	struct marker_event *event;
	int err = 0;

	if (!events.lock)
		return 0;
	mutex_lock(events.lock);
	event = find_event(name);
	if (event)
		err = give_away(event);
	mutex_unlock(events.lock);
	return err;
}

/**
 * marker_events_go() - see what becomes of the events of a module
 * @module: the module that leaves; its markers are forgotten
 *
 * Context: may sleep.
 */
void marker_events_go(struct module *module)
{
	struct marker_event *event;
	struct module *next;
	int bucket;

	if (!events.lock)
		return;
	mutex_lock(events.lock);
	hash_for_each(events.names, bucket, event, node) {
		if (event->call.compat_event_module != module)
			continue;
		next = marker_ready_module(event->name);
		if (next)
			event->call.compat_event_module = next;
		event->leaves = !next;
	}
	mutex_unlock(events.lock);
}

/**
 * marker_events_gone() - free what the trace core has forgotten
 * @module: the module that leaves
 *
 * Context: may sleep.
 */
void marker_events_gone(struct module *module)
{
	struct marker_event *event;
	struct hlist_node *next;
	int bucket;

	if (!events.lock)
		return;
	mutex_lock(events.lock);
	hash_for_each_safe(events.names, bucket, next, event, node) {
		if (!event->leaves || event->call.compat_event_module != module)
			continue;
		forget_event(event);
	}
	mutex_unlock(events.lock);
}

/* Without the lock there are no events, and all else works. */
int __init marker_events_init(void)
{
	struct mutex *lock = (struct mutex *)patcher_find_symbol("event_mutex");

	if (!lock || compat_find_event_calls(patcher_find_symbol)) {
		pr_warn("no trace events of markers: the kernel's event_mutex cannot be found\n");
		return 0;
	}
	events.lock = lock;
	return 0;
}
