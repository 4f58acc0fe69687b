// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registry of event sources: creates and removes trace events as modules are loaded and unloaded.
 *
 * All offers of one name share one event, which has the format of the first offer.  Its owner is a
 * module that offers it, which perf keeps loaded.  When the owner is unloaded, another module that
 * offers the event becomes its owner.  If there is none, the event is removed or, while it is
 * referenced, kept as an orphan: see event_orphans.c.
 *
 * Adding an event creates up to nine files in tracefs.  insmod waits only until the first 32 events
 * of a module are added, and rmmod until as many are removed; a work item does the rest.
 *
 * An event that was enabled may have triggers, and records in buffers, which only the trace core
 * can empty.  So the trace core is given the event's owner, and removes the event in its own module
 * notifier, of priority 1, between marker_events_module_going() and marker_events_module_gone().
 * All other events are removed by this file.
 *
 * Lock order: attaching (functions.c), event_mutex, then the lock of a source's registry.  The
 * trace core holds trace_types_lock, too, when it calls marker_event_reg(), so code that holds a
 * registry's lock must not take trace_types_lock.  The work item takes event_mutex for one event at
 * a time; code that holds any of these locks must not wait for the work item.
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/workqueue.h>

#include <kmarkers/event.h>
#include <kmarkers/redirect.h>

#include "event_call.h"
#include "event_markers.h"
#include "event_names.h"
#include "event_orphans.h"
#include "event_registers.h"
#include "event_users.h"
#include "event_write.h"
#include "events.h"
#include "ftrace.h"

/* All event sources; guarded by event_mutex. */
static LIST_HEAD(sources);

static void lock_events(void)
{
	mutex_lock(marker_event_names.lock);
}

static void unlock_events(void)
{
	mutex_unlock(marker_event_names.lock);
}

static void add_module_events(struct marker_event_source *source, struct module *module)
{
	struct newcomers newcomers;

	if (!source->ready(module, true))
		return;
	marker_newcomers_init(&newcomers, source);
	source->visit(module, marker_event_accept, &newcomers);
	marker_events_apply(&newcomers.stale);
	marker_events_apply_first(&newcomers.fresh);
}

/**
 * marker_events_module_live() - create the events that a module offers
 * @module: the module, whose init has succeeded: after an init that fails, a module is freed
 *	although it is referenced
 *
 * An event that cannot be created is logged; its marker or probe works without it.
 *
 * Context: may sleep.
 */
void marker_events_module_live(struct module *module)
{
	struct marker_event_source *source;

	if (!marker_event_names.lock)
		return;
	lock_events();
	list_for_each_entry(source, &sources, node)
		add_module_events(source, module);
	unlock_events();
}

static int set_new_owner(void *data, const struct marker_event_offer *offer)
{
	struct marker_event *event = data;

	marker_event_set_owner(event, offer->module);
	return 1;
}

/* Hand the event over to another module that offers it. Return false if there is none. */
static bool hand_over_event(struct marker_event *event)
{
	struct marker_event_offer wanted = marker_event_offer(event);

	return event->source->find(&wanted, set_new_owner, event);
}

/*
 * Hand the event over to another module that offers it, else remove it: now, from our work item, or
 * leave it to the trace core.
 */
static void hand_over_or_remove(struct marker_event *event, struct list_head *leaving)
{
	if (hand_over_event(event))
		return;
	if (!event->added) {
		list_del_init(&event->list);
		marker_event_forget(event);
		return;
	}
	if (marker_event_is_held(event)) {
		marker_event_orphan(event);
		return;
	}
	event->leaves = true;
	/* A module that is loaded later may have markers of this name: these must call no user. */
	marker_event_drop_users(event);
	if (event->used) {
		marker_event_leave_to_core(event);
		return;
	}
	marker_event_close(event);
	list_add_tail(&event->list, leaving);
}

/**
 * marker_events_module_going() - hand over or remove the events of a module
 * @module: the module that is being unloaded; its markers are unregistered already
 *
 * Context: may sleep.
 */
void marker_events_module_going(struct module *module)
{
	struct marker_event_source *source;
	struct marker_event *event;
	struct hlist_node *next;
	LIST_HEAD(leaving);
	int bucket;

	if (!marker_event_names.lock)
		return;
	lock_events();
	list_for_each_entry(source, &sources, node)
		source->ready(module, false);
	for_each_event_safe(event, next, bucket)
		if (event->owner == module)
			hand_over_or_remove(event, &leaving);
	marker_events_apply_first(&leaving);
	unlock_events();
}

/**
 * marker_events_module_gone() - free events that the trace core has removed
 * @module: the module that is being unloaded
 *
 * Context: may sleep.
 */
void marker_events_module_gone(struct module *module)
{
	struct marker_event *event;
	struct hlist_node *next;
	int bucket;

	if (!marker_event_names.lock)
		return;
	lock_events();
	for_each_event_safe(event, next, bucket)
		if (event->leaves && event->owner == module)
			marker_event_forget(event);
	unlock_events();
}

/**
 * marker_events_attach() - create the event of a marker attached to a function
 * @function: the function and its marker
 *
 * Context: may sleep.
 */
void marker_events_attach(struct function_marker *function)
{
	struct newcomers newcomers;

	if (!marker_event_names.lock)
		return;
	marker_newcomers_init(&newcomers, &marker_event_markers);
	lock_events();
	function->ready = true;
	marker_event_offer_marker(&function->marker, function->owner, marker_event_accept,
				  &newcomers);
	marker_events_apply(&newcomers.stale);
	marker_events_apply(&newcomers.fresh);
	unlock_events();
}

/* Return true if an event is enabled or referenced. */
static bool is_in_use(struct marker_event *event)
{
	return !list_empty(&event->users) || marker_event_is_held(event);
}

static int detach_event(struct marker_event *event)
{
	int err;

	if (is_in_use(event))
		return -EBUSY;
	if (hand_over_event(event))
		return 0;
	err = marker_event_remove(event);
	if (!err)
		marker_event_forget(event);
	return err;
}

/**
 * marker_events_detach() - remove the event of a function's marker before the marker is detached
 * @function: the function and its marker
 *
 * Context: may sleep.
 * Return: 0; or -EBUSY if the event is enabled or referenced.
 */
int marker_events_detach(struct function_marker *function)
{
	const struct marker *marker = &function->marker;
	struct marker_event *event;
	int err = 0;

	if (!marker_event_names.lock)
		return 0;
	lock_events();
	function->ready = false;
	event = marker_event_find(EVENT_SYSTEM, marker->name);
	if (event && event->added && !event->leaves && !strcmp(event->format, marker->format))
		err = detach_event(event);
	if (err)
		function->ready = true;
	unlock_events();
	return err;
}

/* Wait until the events of modules loaded or unloaded before this call are added or removed. */
void marker_events_flush(void)
{
	if (marker_event_names.lock)
		flush_workqueue(marker_event_names.queue);
}

static int join_source(struct marker_event_source *source)
{
	if (!marker_event_names.lock)
		return -ENOENT;
	lock_events();
	list_add_tail(&source->node, &sources);
	unlock_events();
	return 0;
}

static int mark_offered(void *data, const struct marker_event_offer *offer)
{
	struct marker_event *event = marker_event_find(offer->system, offer->name);

	if (event && !strcmp(event->format, offer->format))
		event->offered = true;
	return 0;
}

/* Return true if any event of a source is no longer offered, but enabled or referenced. */
static bool has_busy_events(const struct marker_event_source *source)
{
	struct marker_event *event;
	struct hlist_node *next;
	int bucket;

	for_each_event_safe(event, next, bucket)
		if (event->source == source && !event->offered && !event->orphan &&
		    is_in_use(event))
			return true;
	return false;
}

/* Free events that are no longer offered; those in the trace core go to @leaving for removal. */
static void withdraw_events(const struct marker_event_source *source, struct list_head *leaving)
{
	struct marker_event *event;
	struct hlist_node *next;
	int bucket;

	for_each_event_safe(event, next, bucket) {
		if (event->source != source || event->offered || event->leaves || event->orphan)
			continue;
		if (!event->added) {
			list_del_init(&event->list);
			marker_event_forget(event);
			continue;
		}
		event->leaves = true;
		marker_event_close(event);
		list_add_tail(&event->list, leaving);
	}
}

static int apply_offers(struct marker_event_source *source)
{
	struct newcomers newcomers;
	struct marker_event *event;
	struct hlist_node *next;
	LIST_HEAD(leaving);
	int bucket;

	for_each_event_safe(event, next, bucket)
		event->offered = false;
	source->visit(NULL, mark_offered, NULL);
	if (has_busy_events(source))
		return -EBUSY;
	withdraw_events(source, &leaving);
	marker_newcomers_init(&newcomers, source);
	source->visit(NULL, marker_event_accept, &newcomers);
	marker_events_apply(&newcomers.stale);
	marker_events_apply_first(&leaving);
	marker_events_apply_first(&newcomers.fresh);
	return 0;
}

static int update_source(struct marker_event_source *source)
{
	int err;

	lock_events();
	err = apply_offers(source);
	unlock_events();
	marker_events_flush();
	return err;
}

static void leave_source(struct marker_event_source *source)
{
	LIST_HEAD(leaving);

	lock_events();
	list_del(&source->node);
	marker_events_drop_source(source);
	withdraw_events(source, &leaving);
	marker_events_apply_first(&leaving);
	unlock_events();
	marker_events_flush();
}

const struct marker_event_calls marker_event_calls = {
	.join = join_source,
	.leave = leave_source,
	.update = update_source,
	.write = marker_event_write,
};
EXPORT_SYMBOL_GPL(marker_event_calls);

/* Register the event source for markers. Without event_mutex, only trace events are missing. */
int __init marker_events_init(void)
{
	struct mutex *lock = (struct mutex *)patcher_find_symbol("event_mutex");

	if (!lock || marker_event_find_calls()) {
		pr_warn("markers have no trace events: event_mutex, trace_add_event_call() or trace_remove_event_call() not found\n");
		return 0;
	}
	marker_event_names.queue = alloc_workqueue("kmarkers_events", WQ_UNBOUND, 1);
	if (!marker_event_names.queue)
		return -ENOMEM;
	marker_event_names.lock = lock;
	marker_event_use_register_writers();
	return join_source(&marker_event_markers);
}

/* No module with markers is loaded. destroy_workqueue() waits until the last events are removed. */
void marker_events_exit(void)
{
	marker_event_orphans_exit();
	if (marker_event_names.lock)
		destroy_workqueue(marker_event_names.queue);
	WARN_ON_ONCE(!hash_empty(marker_event_names.names));
	marker_event_free_kept();
}
