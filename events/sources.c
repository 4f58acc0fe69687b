// SPDX-License-Identifier: GPL-2.0-only
/*
 * Event sources: create, hand over and remove trace events as modules are loaded and unloaded, and
 * as sources change what they offer.
 *
 * All offers of one system and name are one event, with the format of the first offer.  The owner
 * of an event is a module that offers it.  While perf uses the event, the owner stays loaded.  When
 * the owner is unloaded, the event is handed over to another module that offers it, or is removed,
 * or becomes an orphan: see orphans.c.
 *
 * Adding an event creates up to nine files in tracefs, which takes time.  So insmod waits only
 * until the first events of a module are added, and rmmod only until as many are removed.  A work
 * item adds or removes the others.
 *
 * If an event was ever enabled, buffers may hold its records, and it may have triggers.  Only the
 * trace core can empty the buffers.  So when the owner of such an event is unloaded, the event is
 * left to the trace core: it becomes an event of the module for the trace core, too, whose
 * notifier, of priority 1, removes it.  That notifier runs between kmarkers_events_module_going()
 * and kmarkers_events_module_gone().  All other events are removed here.
 *
 * Lock order: event_mutex, then the lock of a source.  The trace core calls kmarkers_event_reg()
 * with trace_types_lock held, too.  So a source that holds its own lock must take neither
 * trace_types_lock nor event_mutex.  The work item takes event_mutex for one event at a time.  No
 * task waits for the work item while it holds one of these locks.
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

#include "call.h"
#include "enable.h"
#include "names.h"
#include "orphans.h"
#include "registers.h"
#include "sources.h"
#include "users.h"
#include "write.h"

/* All event sources; guarded by event_mutex. */
static LIST_HEAD(sources);

static void lock_events(void)
{
	mutex_lock(kmarkers_event_names.lock);
}

static void unlock_events(void)
{
	mutex_unlock(kmarkers_event_names.lock);
}

static void add_offered_events(struct kmarkers_event_source *source, struct module *module)
{
	struct newcomers newcomers;

	if (!source->ready(module))
		return;
	kmarkers_newcomers_init(&newcomers, source);
	source->visit(module, kmarkers_event_accept, &newcomers);
	kmarkers_events_apply(&newcomers.stale);
	kmarkers_events_apply_first(&newcomers.fresh);
}

/**
 * kmarkers_events_module_live() - create the events that a module offers
 * @module: the module; its init must have succeeded, because a module whose init fails is freed
 *	even if it is referenced
 *
 * If an event cannot be created, the reason is logged.
 *
 * Context: may sleep.
 */
void kmarkers_events_module_live(struct module *module)
{
	struct kmarkers_event_source *source;

	if (!kmarkers_event_names.lock)
		return;
	lock_events();
	list_for_each_entry(source, &sources, node)
		add_offered_events(source, module);
	unlock_events();
}

static int take_owner(void *data, const struct kmarkers_event_offer *offer)
{
	struct kmarkers_event *event = data;

	kmarkers_event_set_owner(event, offer->module);
	return 1;
}

/* Hand an event over to another module that offers it. Return false if there is none. */
static bool hand_over(struct kmarkers_event *event)
{
	struct kmarkers_event_offer wanted = kmarkers_event_offer(event);

	return event->source->find(&wanted, take_owner, event);
}

/*
 * Hand an event over to another module that offers it.  If there is none and the event is
 * referenced, make it an orphan.  Otherwise remove it: at once if it was never added to the trace
 * core, by the trace core if it was ever enabled, else by adding it to the list @removed.
 */
static void hand_over_or_remove(struct kmarkers_event *event, struct list_head *removed)
{
	if (hand_over(event))
		return;
	if (!event->added) {
		list_del_init(&event->list);
		kmarkers_event_forget(event);
		return;
	}
	if (kmarkers_event_is_held(event)) {
		kmarkers_event_orphan(event);
		return;
	}
	event->leaves = true;
	/* If a module loaded later offers the same name, its hits must not reach these users. */
	kmarkers_event_drop_users(event);
	if (event->used) {
		kmarkers_event_leave_to_core(event);
		return;
	}
	kmarkers_event_close(event);
	list_add_tail(&event->list, removed);
}

/**
 * kmarkers_events_module_going() - hand over or remove the events of a module
 * @module: the module that is being unloaded; the sources have already dropped its objects
 *
 * Context: may sleep.
 */
void kmarkers_events_module_going(struct module *module)
{
	struct kmarkers_event *event;
	struct hlist_node *next;
	LIST_HEAD(removed);
	int bucket;

	if (!kmarkers_event_names.lock)
		return;
	lock_events();
	for_each_event_safe(event, next, bucket)
		if (event->owner == module)
			hand_over_or_remove(event, &removed);
	kmarkers_events_apply_first(&removed);
	unlock_events();
}

/**
 * kmarkers_events_module_gone() - free those events of a module that the trace core has removed
 * @module: the module that is being unloaded
 *
 * Context: may sleep.
 */
void kmarkers_events_module_gone(struct module *module)
{
	struct kmarkers_event *event;
	struct hlist_node *next;
	int bucket;

	if (!kmarkers_event_names.lock)
		return;
	lock_events();
	for_each_event_safe(event, next, bucket)
		if (event->leaves && event->owner == module)
			kmarkers_event_forget(event);
	unlock_events();
}

/* Return true if an event is enabled or referenced. */
static bool is_in_use(struct kmarkers_event *event)
{
	return !list_empty(&event->users) || kmarkers_event_is_held(event);
}

static void flush_events(void)
{
	flush_workqueue(kmarkers_event_names.queue);
}

static int join_source(struct kmarkers_event_source *source)
{
	if (!kmarkers_event_names.lock)
		return -ENOENT;
	lock_events();
	list_add_tail(&source->node, &sources);
	unlock_events();
	return 0;
}

/* Note the module that makes an offer in the event of the offer; prefer the owner of the event. */
static int mark_offered(void *data, const struct kmarkers_event_offer *offer)
{
	struct kmarkers_event *event = kmarkers_event_find(offer->system, offer->name);

	if (!event || strcmp(event->format, offer->format))
		return 0;
	if (!event->offered_by || offer->module == event->owner)
		event->offered_by = offer->module;
	return 0;
}

/*
 * Mark as offered the events of a source whose owners are being unloaded:
 * kmarkers_events_module_going() has yet to run for the owner, and hands the event over or removes
 * it.
 */
static void keep_events_of_going_modules(const struct kmarkers_event_source *source)
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
 * Return true if a source has an event that is not offered any more but is enabled or referenced.
 */
static bool is_busy(const struct kmarkers_event_source *source)
{
	struct kmarkers_event *event;
	struct hlist_node *next;
	int bucket;

	for_each_event_safe(event, next, bucket)
		if (event->source == source && !event->offered_by && !event->orphan &&
		    is_in_use(event))
			return true;
	return false;
}

/*
 * Remove the events that a source does not offer any more.  Those that were added to the trace core
 * are only moved to the list @removed.
 */
static void withdraw_events(const struct kmarkers_event_source *source, struct list_head *removed)
{
	struct kmarkers_event *event;
	struct hlist_node *next;
	int bucket;

	for_each_event_safe(event, next, bucket) {
		if (event->source != source || event->offered_by || event->leaves || event->orphan)
			continue;
		if (!event->added) {
			list_del_init(&event->list);
			kmarkers_event_forget(event);
			continue;
		}
		event->leaves = true;
		kmarkers_event_close(event);
		list_add_tail(&event->list, removed);
	}
}

/*
 * If the owner of an event does not offer it any more, hand the event over to a module that does.
 */
static void update_owners(const struct kmarkers_event_source *source)
{
	struct kmarkers_event *event;
	struct hlist_node *next;
	int bucket;

	for_each_event_safe(event, next, bucket)
		if (event->source == source && event->offered_by && !event->leaves &&
		    !event->orphan && event->owner != event->offered_by)
			kmarkers_event_set_owner(event, event->offered_by);
}

static int change_offers(struct kmarkers_event_source *source)
{
	struct newcomers newcomers;
	struct kmarkers_event *event;
	struct hlist_node *next;
	LIST_HEAD(removed);
	int bucket;

	for_each_event_safe(event, next, bucket)
		event->offered_by = NULL;
	source->visit(NULL, mark_offered, NULL);
	keep_events_of_going_modules(source);
	if (is_busy(source))
		return -EBUSY;
	update_owners(source);
	withdraw_events(source, &removed);
	kmarkers_newcomers_init(&newcomers, source);
	source->visit(NULL, kmarkers_event_accept, &newcomers);
	kmarkers_events_apply(&newcomers.stale);
	kmarkers_events_apply_first(&removed);
	kmarkers_events_apply_first(&newcomers.fresh);
	return 0;
}

static int update_source(struct kmarkers_event_source *source)
{
	int err;

	lock_events();
	err = change_offers(source);
	unlock_events();
	flush_events();
	return err;
}

static void offer_event(struct kmarkers_event_source *source,
			const struct kmarkers_event_offer *offer)
{
	struct newcomers newcomers;

	lock_events();
	kmarkers_newcomers_init(&newcomers, source);
	kmarkers_event_accept(&newcomers, offer);
	kmarkers_events_apply(&newcomers.stale);
	kmarkers_events_apply(&newcomers.fresh);
	unlock_events();
}

static int remove_or_hand_over(struct kmarkers_event *event)
{
	int err;

	if (is_in_use(event))
		return -EBUSY;
	if (hand_over(event))
		return 0;
	err = kmarkers_event_remove(event);
	if (!err)
		kmarkers_event_forget(event);
	return err;
}

static int withdraw_event(const struct kmarkers_event_offer *offer)
{
	struct kmarkers_event *event;
	int err = 0;

	lock_events();
	event = kmarkers_event_find(offer->system, offer->name);
	if (event && event->added && !event->leaves && !strcmp(event->format, offer->format))
		err = remove_or_hand_over(event);
	unlock_events();
	return err;
}

static void leave_source(struct kmarkers_event_source *source)
{
	struct kmarkers_event *event;
	struct hlist_node *next;
	LIST_HEAD(removed);
	int bucket;

	lock_events();
	list_del(&source->node);
	kmarkers_events_drop_source(source);
	for_each_event_safe(event, next, bucket)
		event->offered_by = NULL;
	withdraw_events(source, &removed);
	kmarkers_events_apply_first(&removed);
	unlock_events();
	flush_events();
}

const struct kmarkers_event_calls kmarkers_event_calls = {
	.join = join_source,
	.leave = leave_source,
	.update = update_source,
	.offer = offer_event,
	.withdraw = withdraw_event,
	.enable = kmarkers_events_enable,
	.is_enabled = kmarkers_event_is_enabled,
	.flush = flush_events,
	.write = kmarkers_event_write,
	.probe = kmarkers_event_probe,
	.find_register_writer = kmarkers_event_register_writer,
};
EXPORT_SYMBOL_GPL(kmarkers_event_calls);

/*
 * Look up event_mutex and the functions that add and remove events.  If one cannot be found, no
 * source can join.  Return 0 or -ENOMEM.
 */
int __init kmarkers_events_init(void)
{
	struct mutex *lock = (struct mutex *)patcher_find_symbol("event_mutex");

	if (!lock || kmarkers_event_find_calls()) {
		pr_warn("no trace events: event_mutex, or a function that adds or removes events, cannot be found\n");
		return 0;
	}
	kmarkers_event_names.queue = alloc_workqueue("kmarkers_events", WQ_UNBOUND, 1);
	if (!kmarkers_event_names.queue)
		return -ENOMEM;
	kmarkers_event_names.lock = lock;
	return 0;
}

/* All sources have left.  Wait until the work item has removed the remaining events. */
void kmarkers_events_exit(void)
{
	kmarkers_event_orphans_exit();
	if (kmarkers_event_names.lock)
		destroy_workqueue(kmarkers_event_names.queue);
	WARN_ON_ONCE(!hash_empty(kmarkers_event_names.names));
	kmarkers_event_free_kept();
}
