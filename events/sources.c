// SPDX-License-Identifier: GPL-2.0-only
/*
 * Event sources: create and remove trace events, and change the owners of events, as modules are
 * loaded and unloaded and as sources change their offers (requests for trace events).
 *
 * All offers with the same system and name make one event, with the format of the first offer.  The
 * owner of an event is a module that offers the event.  While perf uses the event, the owner stays
 * loaded.  When the owner is unloaded, another module that offers the event becomes the owner, or
 * the event is removed or becomes an orphan: see orphans.c.
 *
 * Adding an event creates up to nine files in tracefs, which takes time.  So insmod waits only
 * until the first AT_ONCE events of a module are added, and rmmod only until the first AT_ONCE are
 * removed.  A work item adds or removes all further events.
 *
 * If an event was ever enabled, buffers may hold its records, and it may have triggers.  Only the
 * trace core can empty the buffers.  Therefore, if such an event must be removed because its owner
 * is unloaded, the owner is registered as the event's module in the trace core, and the trace
 * core's module notifier removes the event.  That notifier has priority 1, so it runs between
 * kmarkers_events_handle_module_going() and kmarkers_events_handle_module_gone().  All other events
 * are removed here.
 *
 * Lock order: event_mutex, then the lock of a source.  The trace core calls kmarkers_event_reg()
 * with trace_types_lock held, too.  So a source that holds its own lock must take neither
 * trace_types_lock nor event_mutex.  The work item takes event_mutex for one event at a time.  A
 * task that holds one of these locks never waits for the work item.
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/printk.h>

#include <kmarkers/event.h>
#include <kmarkers/redirect.h>

#include "call.h"
#include "enable.h"
#include "names.h"
#include "orphans.h"
#include "registers.h"
#include "sources.h"
#include "users.h"
#include "work.h"
#include "write.h"

/* All event sources; guarded by event_mutex. */
static LIST_HEAD(sources);

/*
 * Connect the waiting users of all events.  A user waits if it could not be connected before, for
 * example because the source of the event was unregistered and is registered again.  The caller
 * holds no lock of a source.
 */
static void connect_waiting_users(void)
{
	struct kmarkers_event *event;
	struct hlist_node *next;
	int bucket;

	for_each_event_safe(event, next, bucket)
		if (!event->orphan && !event->is_removed)
			kmarkers_event_connect_users(event, true);
}

static void add_offered_events(struct kmarkers_event_source *source, struct module *module)
{
	struct event_changes changes;

	if (!source->ready(module))
		return;
	kmarkers_event_changes_init(&changes, source);
	source->visit(module, kmarkers_event_accept_offer, &changes);
	kmarkers_events_add_or_remove_all(&changes.stale);
	kmarkers_events_add_or_remove_first(&changes.created);
}

/**
 * kmarkers_events_handle_module_live() - create the trace events that a module offers
 * @module: the module; its init must have succeeded, because a module whose init fails is freed
 *	even if it is referenced
 *
 * If an event cannot be created, the reason is logged.
 *
 * Context: may sleep.
 */
void kmarkers_events_handle_module_live(struct module *module)
{
	struct kmarkers_event_source *source;

	if (!kmarkers_event_names.lock)
		return;
	kmarkers_events_lock();
	list_for_each_entry(source, &sources, node)
		add_offered_events(source, module);
	connect_waiting_users();
	kmarkers_events_unlock();
}

static int set_owner_from_offer(void *data, const struct kmarkers_event_offer *offer)
{
	struct kmarkers_event *event = data;

	kmarkers_event_set_owner(event, offer->module);
	return 1;
}

/* Find a new owner among the other modules that offer an event. Return false if there is none. */
static bool change_event_owner(struct kmarkers_event *event)
{
	struct kmarkers_event_offer wanted = kmarkers_event_make_offer(event);

	return event->source->find(&wanted, set_owner_from_offer, event);
}

/*
 * Find a new owner for an event: another module that offers the event.  If there is none, make a
 * referenced event an orphan, and remove an unreferenced event.  An event that is not in the trace
 * core is freed here.  An event that was ever enabled is removed by the trace core.  Any other
 * event is put into the list @removed, for the caller to remove.
 */
static void change_owner_or_remove_event(struct kmarkers_event *event, struct list_head *removed)
{
	if (change_event_owner(event))
		return;
	if (!event->added) {
		list_del_init(&event->list);
		kmarkers_event_unhash_and_free(event);
		return;
	}
	if (kmarkers_event_is_referenced(event)) {
		kmarkers_event_make_orphan(event);
		return;
	}
	event->is_removed = true;
	/*
	 * Remove the users: if a later module offers the same event, a user would get the hits of
	 * that module.
	 */
	kmarkers_event_remove_users(event);
	if (event->used) {
		kmarkers_event_leave_removal_to_core(event);
		return;
	}
	kmarkers_event_block_new_refs(event);
	list_add_tail(&event->list, removed);
}

/**
 * kmarkers_events_handle_module_going() - find new owners of a module's events or remove the events
 * @module: the module that is being unloaded, whose objects the sources have already dropped
 *
 * Context: may sleep.
 */
void kmarkers_events_handle_module_going(struct module *module)
{
	struct kmarkers_event *event;
	struct hlist_node *next;
	LIST_HEAD(removed);
	int bucket;

	if (!kmarkers_event_names.lock)
		return;
	kmarkers_events_lock();
	for_each_event_safe(event, next, bucket)
		if (event->owner == module)
			change_owner_or_remove_event(event, &removed);
	kmarkers_events_add_or_remove_first(&removed);
	kmarkers_events_unlock();
}

/**
 * kmarkers_events_handle_module_gone() - free a module's events that the trace core has removed
 * @module: the module that is being unloaded
 *
 * Context: may sleep.
 */
void kmarkers_events_handle_module_gone(struct module *module)
{
	struct kmarkers_event *event;
	struct hlist_node *next;
	int bucket;

	if (!kmarkers_event_names.lock)
		return;
	kmarkers_events_lock();
	for_each_event_safe(event, next, bucket)
		if (event->is_removed && event->owner == module)
			kmarkers_event_unhash_and_free(event);
	kmarkers_events_unlock();
}

static int register_event_source(struct kmarkers_event_source *source)
{
	if (!kmarkers_event_names.lock)
		return -ENOENT;
	kmarkers_events_lock();
	list_add_tail(&source->node, &sources);
	kmarkers_events_unlock();
	return 0;
}

/*
 * Set @offered_by of an event to a module that offers the event: the owner if the owner offers the
 * event, else any module that offers the event.
 */
static int store_offering_module(void *data, const struct kmarkers_event_offer *offer)
{
	struct kmarkers_event *event = kmarkers_event_find(offer->system, offer->name);

	if (!event || strcmp(event->format, offer->format))
		return 0;
	if (!event->offered_by || offer->module == event->owner)
		event->offered_by = offer->module;
	return 0;
}

/*
 * Mark the events of modules that are being unloaded as offered: do not remove these events here,
 * because kmarkers_events_handle_module_going() finds new owners for the events or removes them.
 */
static void mark_events_of_going_modules_offered(const struct kmarkers_event_source *source)
{
	struct kmarkers_event *event;
	struct hlist_node *next;
	int bucket;

	for_each_event_safe(event, next, bucket)
		if (event->source == source && event->owner &&
		    READ_ONCE(event->owner->state) == MODULE_STATE_GOING)
			event->offered_by = event->owner;
}

/*
 * Return true if a source has an event that no module offers but that is enabled or referenced.
 */
static bool has_unoffered_event_in_use(const struct kmarkers_event_source *source)
{
	struct kmarkers_event *event;
	struct hlist_node *next;
	int bucket;

	for_each_event_safe(event, next, bucket)
		if (event->source == source && !event->offered_by && !event->is_removed &&
		    !event->orphan && kmarkers_event_is_in_use(event))
			return true;
	return false;
}

/*
 * Remove the events that a source does not offer any more.  Events that were added to the trace
 * core are only put into the list @removed: the caller removes them.
 */
static void remove_unoffered_events(const struct kmarkers_event_source *source,
				    struct list_head *removed)
{
	struct kmarkers_event *event;
	struct hlist_node *next;
	int bucket;

	for_each_event_safe(event, next, bucket) {
		if (event->source != source || event->offered_by || event->is_removed ||
		    event->orphan)
			continue;
		if (!event->added) {
			list_del_init(&event->list);
			kmarkers_event_unhash_and_free(event);
			continue;
		}
		event->is_removed = true;
		kmarkers_event_block_new_refs(event);
		list_add_tail(&event->list, removed);
	}
}

/*
 * If the owner of an event no longer offers the event, make a module that still offers the event
 * the owner.  The owner of an event that is in use stays, because older kernels count references to
 * the event in its owner; the event gets a new owner when the old one is unloaded.
 */
static void update_event_owners(const struct kmarkers_event_source *source)
{
	struct kmarkers_event *event;
	struct hlist_node *next;
	int bucket;

	for_each_event_safe(event, next, bucket)
		if (event->source == source && event->offered_by && !event->is_removed &&
		    !event->orphan && event->owner != event->offered_by &&
		    !kmarkers_event_is_in_use(event))
			kmarkers_event_set_owner(event, event->offered_by);
}

static int apply_changed_offers(struct kmarkers_event_source *source)
{
	struct event_changes changes;
	struct kmarkers_event *event;
	struct hlist_node *next;
	LIST_HEAD(removed);
	int bucket;

	for_each_event_safe(event, next, bucket)
		event->offered_by = NULL;
	source->visit(NULL, store_offering_module, NULL);
	mark_events_of_going_modules_offered(source);
	if (has_unoffered_event_in_use(source))
		return -EBUSY;
	update_event_owners(source);
	remove_unoffered_events(source, &removed);
	kmarkers_event_changes_init(&changes, source);
	source->visit(NULL, kmarkers_event_accept_offer, &changes);
	kmarkers_events_add_or_remove_all(&changes.stale);
	kmarkers_events_add_or_remove_first(&removed);
	kmarkers_events_add_or_remove_first(&changes.created);
	connect_waiting_users();
	return 0;
}

static int update_source_events(struct kmarkers_event_source *source)
{
	int err;

	kmarkers_events_lock();
	err = apply_changed_offers(source);
	kmarkers_events_unlock();
	kmarkers_event_flush_workqueue();
	return err;
}

static void create_offered_event(struct kmarkers_event_source *source,
				 const struct kmarkers_event_offer *offer)
{
	struct event_changes changes;

	kmarkers_events_lock();
	kmarkers_event_changes_init(&changes, source);
	kmarkers_event_accept_offer(&changes, offer);
	kmarkers_events_add_or_remove_all(&changes.stale);
	kmarkers_events_add_or_remove_all(&changes.created);
	connect_waiting_users();
	kmarkers_events_unlock();
}

static int withdraw_unused_event(struct kmarkers_event *event)
{
	int err;

	if (kmarkers_event_is_in_use(event))
		return -EBUSY;
	if (change_event_owner(event))
		return 0;
	err = kmarkers_event_remove_from_core(event);
	if (!err)
		kmarkers_event_unhash_and_free(event);
	return err;
}

static int withdraw_event(const struct kmarkers_event_offer *offer)
{
	struct kmarkers_event *event;
	int err = 0;

	kmarkers_events_lock();
	event = kmarkers_event_find(offer->system, offer->name);
	if (event && event->added && !event->is_removed && !strcmp(event->format, offer->format))
		err = withdraw_unused_event(event);
	kmarkers_events_unlock();
	return err;
}

static void unregister_event_source(struct kmarkers_event_source *source)
{
	struct kmarkers_event *event;
	struct hlist_node *next;
	LIST_HEAD(removed);
	int bucket;

	kmarkers_events_lock();
	list_del(&source->node);
	kmarkers_events_make_orphans_of_source(source);
	for_each_event_safe(event, next, bucket)
		event->offered_by = NULL;
	remove_unoffered_events(source, &removed);
	kmarkers_events_add_or_remove_first(&removed);
	kmarkers_events_unlock();
	kmarkers_event_flush_workqueue();
	/*
	 * If a trigger has enabled an event meanwhile, the event was not removed: make it an
	 * orphan.
	 */
	kmarkers_events_lock();
	kmarkers_events_make_orphans_of_source(source);
	kmarkers_events_unlock();
}

const struct kmarkers_event_calls kmarkers_event_calls = {
	.join = register_event_source,
	.leave = unregister_event_source,
	.update = update_source_events,
	.offer = create_offered_event,
	.withdraw = withdraw_event,
	.enable = kmarkers_switch_events,
	.is_enabled = kmarkers_event_is_enabled,
	.flush = kmarkers_event_flush_workqueue,
	.retry = kmarkers_event_queue_retry,
	.write = kmarkers_event_write_record,
	.probe = kmarkers_event_probe,
	.find_register_writer = kmarkers_event_get_register_writer,
};
EXPORT_SYMBOL_GPL(kmarkers_event_calls);

/*
 * Look up event_mutex and the functions that add and remove events.  If one of these symbols cannot
 * be found, no event source can be registered.  Return 0 or -ENOMEM.
 */
int __init kmarkers_events_init(void)
{
	struct mutex *lock = (struct mutex *)patcher_find_symbol("event_mutex");

	if (!lock || kmarkers_event_find_core_functions()) {
		pr_warn("trace events cannot be created in this kernel: kallsyms lacks event_mutex or a function that adds or removes events\n");
		return 0;
	}
	if (kmarkers_event_create_workqueue(kmarkers_events_remove_orphans_and_connect_users))
		return -ENOMEM;
	kmarkers_event_names.lock = lock;
	return 0;
}

/*
 * Wait until the work item has removed the remaining events, and free all memory.  All event
 * sources have been unregistered.
 */
void kmarkers_events_exit(void)
{
	if (kmarkers_event_names.lock)
		kmarkers_event_destroy_workqueue();
	WARN_ON_ONCE(!hash_empty(kmarkers_event_names.names));
	kmarkers_event_free_removed();
}
