// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registry of all trace events: creates an event for each offer (a source's request for a trace
 * event), and adds events to the trace core or removes events, immediately or in a work item.
 * Callers hold event_mutex.
 */
#include <linux/errno.h>
#include <linux/jhash.h>
#include <linux/limits.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "call.h"
#include "names.h"
#include "work.h"

/*
 * Maximum number of events that insmod adds or rmmod removes; a work item adds or removes all
 * others.
 */
#define AT_ONCE		32

struct event_names kmarkers_event_names = {
	.removing = __MUTEX_INITIALIZER(kmarkers_event_names.removing),
	.pending = LIST_HEAD_INIT(kmarkers_event_names.pending),
};

static void add_or_remove_pending_events(struct work_struct *work);
static DECLARE_WORK(pending_work, add_or_remove_pending_events);

/* Take event_mutex, to add events to the trace core and to remove events from it. */
void kmarkers_events_lock(void)
{
	mutex_lock(&kmarkers_event_names.removing);
	mutex_lock(kmarkers_event_names.lock);
}

void kmarkers_events_unlock(void)
{
	mutex_unlock(kmarkers_event_names.lock);
	mutex_unlock(&kmarkers_event_names.removing);
}

void kmarkers_event_changes_init(struct event_changes *changes,
				 struct kmarkers_event_source *source)
{
	changes->source = source;
	INIT_LIST_HEAD(&changes->created);
	INIT_LIST_HEAD(&changes->stale);
}

static u32 hash_event_name(const char *name)
{
	return jhash(name, strlen(name), 0);
}

struct kmarkers_event *kmarkers_event_find(const char *system, const char *name)
{
	struct kmarkers_event *event;

	lockdep_assert_held(kmarkers_event_names.lock);
	hash_for_each_possible(kmarkers_event_names.names, event, node, hash_event_name(name))
		if (!strcmp(event->name, name) && !strcmp(event->system, system))
			return event;
	return NULL;
}

/**
 * kmarkers_event_make_orphan() - make an orphan of a referenced event that no module offers
 * @event: the event; if it is enabled in a buffer, hits are not recorded before adopt_orphan()
 *
 * A task that enables an orphan, directly or by the file "enable" of the system, gets an error.
 * The orphan does not have the flag TRACE_EVENT_FL_IGNORE_ENABLE, which would also keep the trace
 * core from disabling the orphan.
 */
void kmarkers_event_make_orphan(struct kmarkers_event *event)
{
	lockdep_assert_held(kmarkers_event_names.lock);
	__module_get(THIS_MODULE);
	event->orphan = true;
	event->owner = NULL;
	kmarkers_event_queue_check_work();
}

/*
 * Make an orphan of an event that the trace core refuses to remove, because a trigger has enabled
 * the event since the event was found to be unused.
 */
static void keep_event_as_orphan(struct kmarkers_event *event)
{
	list_del_init(&event->list);
	event->is_removed = false;
	kmarkers_event_set_owner(event, NULL);
	kmarkers_event_make_orphan(event);
}

/*
 * Turn an orphan that @module now offers into an ordinary event, and drop the orphan's reference to
 * the module kmarkers_events.
 */
static void adopt_orphan(struct kmarkers_event *event, struct kmarkers_event_source *source,
			 struct module *module)
{
	event->orphan = false;
	event->source = source;
	kmarkers_event_set_owner(event, module);
	module_put(THIS_MODULE);
}

/* Report to the source of an offer that an event with the same name and format exists. */
static void set_event_exists_flag(const struct kmarkers_event_offer *offer)
{
	if (offer->event_exists)
		*offer->event_exists = true;
}

/*
 * Use @event for @offer, which has the same name, if the formats are equal, too.  If the formats
 * differ, there are three cases:
 *
 * - @event is not being removed: log a warning, and return true.
 * - @event is queued for removal: return false, so that the caller creates an event.  But if a
 *   trigger has enabled @event meanwhile, make @event an orphan, log a warning, and return true.
 * - The trace core is about to remove @event: return true, because
 *   kmarkers_events_handle_module_gone() creates an event for @offer later.
 */
static bool reuse_event_for_offer(struct event_changes *changes, struct kmarkers_event *event,
				  const struct kmarkers_event_offer *offer)
{
	bool same = !strcmp(event->format, offer->format);

	if (same)
		set_event_exists_flag(offer);
	else if (!list_empty(&event->list) && event->is_removed && kmarkers_event_is_in_use(event))
		keep_event_as_orphan(event);
	if (event->orphan && same) {
		adopt_orphan(event, changes->source, offer->module);
		return true;
	}
	if (!list_empty(&event->list) && event->is_removed && same) {
		event->is_removed = false;
		list_del_init(&event->list);
		kmarkers_event_set_owner(event, offer->module);
	} else if (!list_empty(&event->list) && event->is_removed) {
		hash_del(&event->node);
		list_move_tail(&event->list, &changes->stale);
		return false;
	} else if (!same && !event->is_removed) {
		pr_warn("trace event %s: hits in %s are not recorded: format \"%s\" differs from the event's format \"%s\"\n",
			offer->name, offer->place, offer->format, event->format);
	}
	return true;
}

/**
 * kmarkers_event_accept_offer() - create or reuse the trace event that an offer requests
 * @data: the struct event_changes to which a new event is added
 * @offer: the offer, a source's request for a trace event
 *
 * If no event is created or reused for the offer, the reason is logged.
 *
 * Return: always 0.
 */
int kmarkers_event_accept_offer(void *data, const struct kmarkers_event_offer *offer)
{
	struct kmarkers_event *event = kmarkers_event_find(offer->system, offer->name);
	struct event_changes *changes = data;

	if (event && reuse_event_for_offer(changes, event, offer))
		return 0;
	if (!kmarkers_event_is_valid_offer(offer)) {
		pr_warn("trace event %.64s for %s not created: not a valid event name\n",
			offer->name, offer->place);
		return 0;
	}
	event = kmarkers_event_reuse_or_alloc(offer);
	if (!event) {
		pr_warn("trace event %s not created: no memory\n", offer->name);
		return 0;
	}
	event->source = changes->source;
	hash_add(kmarkers_event_names.names, &event->node, hash_event_name(event->name));
	list_add_tail(&event->list, &changes->created);
	set_event_exists_flag(offer);
	return 0;
}

static void add_event_or_free(struct kmarkers_event *event)
{
	int err = kmarkers_event_add_to_core(event);

	if (!err)
		return;
	pr_warn("trace event %s not created: %s: error %d\n", event->name,
		err == -EINVAL ? "format cannot be printed" :
		err == -E2BIG ? "too many or too long arguments" : "cannot be added", err);
	hash_del(&event->node);
	kmarkers_event_free_or_keep_for_reuse(event);
}

/**
 * kmarkers_event_unhash_and_free() - remove an event from the hash table and free it
 * @event: the event, not registered with the trace core
 *
 * If the event's source still offers the same name, an event is created for this offer.
 */
void kmarkers_event_unhash_and_free(struct kmarkers_event *event)
{
	struct kmarkers_event_offer wanted = kmarkers_event_make_offer(event);
	struct event_changes changes;

	hash_del(&event->node);
	kmarkers_event_changes_init(&changes, event->source);
	wanted.format = NULL;
	/*
	 * A module that still offers the name becomes the owner of the new event.  This owner
	 * cannot be freed meanwhile, because its unloading waits for event_mutex, in
	 * kmarkers_events_handle_module_going().
	 */
	if (event->source)
		event->source->find(&wanted, kmarkers_event_accept_offer, &changes);
	kmarkers_event_free_or_keep_for_reuse(event);
	if (list_empty(&changes.created))
		return;
	event = list_first_entry(&changes.created, struct kmarkers_event, list);
	list_del_init(&event->list);
	add_event_or_free(event);
}

/* Add an event to the trace core or, if no module offers the event any more, remove it. */
static void add_or_remove_event(struct kmarkers_event *event)
{
	list_del_init(&event->list);
	if (!event->is_removed)
		add_event_or_free(event);
	else if (!kmarkers_event_remove_from_core(event))
		kmarkers_event_unhash_and_free(event);
	else
		keep_event_as_orphan(event);
}

static void add_or_remove_events(struct list_head *list, unsigned int max_events)
{
	for (; max_events && !list_empty(list); max_events--)
		add_or_remove_event(list_first_entry(list, struct kmarkers_event, list));
}

/* Work item: add or remove the pending events, releasing event_mutex after each. */
static void add_or_remove_pending_events(struct work_struct *work)
{
	bool more;

	do {
		kmarkers_events_lock();
		add_or_remove_events(&kmarkers_event_names.pending, 1);
		more = !list_empty(&kmarkers_event_names.pending);
		kmarkers_events_unlock();
		cond_resched();
	} while (more);
}

/* Add or remove all events of a list now. */
void kmarkers_events_add_or_remove_all(struct list_head *list)
{
	add_or_remove_events(list, UINT_MAX);
}

/* Add or remove the first AT_ONCE events of a list now, and queue the others for the work item. */
void kmarkers_events_add_or_remove_first(struct list_head *list)
{
	add_or_remove_events(list, AT_ONCE);
	if (list_empty(list))
		return;
	list_splice_tail(list, &kmarkers_event_names.pending);
	kmarkers_event_queue_work(&pending_work);
}
