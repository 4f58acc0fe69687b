// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registry of event sources: creates and removes trace events as modules are loaded and unloaded.
 *
 * One name is one event, of the format that was offered first.  It is the event of a module that
 * offers it, which perf keeps loaded.  When this module leaves, another one that offers it gets the
 * event, or the event leaves, or stays as an orphan: event_orphans.c says what keeps it.
 *
 * To add an event makes up to nine files in tracefs.  insmod waits for the first events
 * of a module, and rmmod for the removal of as many; a work item does the others.
 *
 * An event that was on has left records in buffers, which only the trace core can empty,
 * and may have triggers: it becomes an event of its module for the trace core as well, whose
 * notifier, of priority 1, removes it between marker_events_module_going() and
 * marker_events_module_gone().  All other events are removed by us.
 *
 * Lock order: attaching (functions.c), event_mutex, then the lock of the registry of a
 * source.  The trace core calls marker_event_reg() under trace_types_lock as well, so
 * neither that lock nor a call that takes it is taken under a registry's.  The work item
 * takes event_mutex for one event at a time; nobody who holds a lock of these waits for it.
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

static void come_from(struct marker_event_source *source, struct module *module)
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
 * @module: the module, whose init has succeeded: one that fails leaves although it is referred to
 *
 * Without an event all else works; the log says why.
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
		come_from(source, module);
	unlock_events();
}

static int take_owner(void *data, const struct marker_event_offer *offer)
{
	struct marker_event *event = data;

	marker_event_own(event, offer->module);
	return 1;
}

/* Hand the event over to another module that offers it. Return false if there is none. */
static bool hand_on(struct marker_event *event)
{
	struct marker_event_offer wanted = marker_event_offer(event);

	return event->source->find(&wanted, take_owner, event);
}

/*
 * Hand the event over to another module that offers it, else remove it: now, from our work item, or
 * leave it to the trace core.
 */
static void give_away(struct marker_event *event, struct list_head *leaving)
{
	if (hand_on(event))
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
	/* Another module may define the same name later, and hit it. */
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
 * @module: the module that leaves; its markers are forgotten
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
			give_away(event, &leaving);
	marker_events_apply_first(&leaving);
	unlock_events();
}

/**
 * marker_events_module_gone() - free events that the trace core has removed
 * @module: the module that leaves
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

/* Is an event enabled or referenced? */
static bool is_in_use(struct marker_event *event)
{
	return !list_empty(&event->users) || marker_event_is_held(event);
}

static int detach_event(struct marker_event *event)
{
	int err;

	if (is_in_use(event))
		return -EBUSY;
	if (hand_on(event))
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

/* Wait for the events of all modules that were loaded or unloaded before. */
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

static int note_offered(void *data, const struct marker_event_offer *offer)
{
	struct marker_event *event = marker_event_find(offer->system, offer->name);

	if (event && !strcmp(event->format, offer->format))
		event->offered = true;
	return 0;
}

/* Is any event enabled or referenced that is not offered any more? */
static bool is_busy(const struct marker_event_source *source)
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

/* Queue the removal of events that are not offered any more and not busy. */
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

static int change_offers(struct marker_event_source *source)
{
	struct newcomers newcomers;
	struct marker_event *event;
	struct hlist_node *next;
	LIST_HEAD(leaving);
	int bucket;

	for_each_event_safe(event, next, bucket)
		event->offered = false;
	source->visit(NULL, note_offered, NULL);
	if (is_busy(source))
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
	err = change_offers(source);
	unlock_events();
	marker_events_flush();
	return err;
}

static void leave_source(struct marker_event_source *source)
{
	LIST_HEAD(leaving);

	lock_events();
	list_del(&source->node);
	marker_events_lose_source(source);
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

/* Without event_mutex there are no events, and all else works. */
int __init marker_events_init(void)
{
	struct mutex *lock = (struct mutex *)patcher_find_symbol("event_mutex");

	if (!lock || marker_event_find_calls()) {
		pr_warn("no trace events of markers: event_mutex, or a call that adds or removes one, cannot be found\n");
		return 0;
	}
	marker_event_names.queue = alloc_workqueue("kmarkers_events", WQ_UNBOUND, 1);
	if (!marker_event_names.queue)
		return -ENOMEM;
	marker_event_names.lock = lock;
	marker_event_use_register_writers();
	return join_source(&marker_event_markers);
}

/* No module with markers is loaded. The work item removes the remaining events. */
void marker_events_exit(void)
{
	marker_event_orphans_exit();
	if (marker_event_names.lock)
		destroy_workqueue(marker_event_names.queue);
	WARN_ON_ONCE(!hash_empty(marker_event_names.names));
	marker_event_free_kept();
}
