// SPDX-License-Identifier: GPL-2.0-only
/*
 * All trace events: created from offers, and added to and removed from the trace core, at once or
 * by the work item. Callers hold event_mutex.
 */
#include <linux/errno.h>
#include <linux/jhash.h>
#include <linux/limits.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "event_call.h"
#include "event_names.h"

#define AT_ONCE		32	/* events that insmod or rmmod waits for at most */

struct event_names marker_event_names = {
	.pending = LIST_HEAD_INIT(marker_event_names.pending),
};

static void apply_pending(struct work_struct *work);
static DECLARE_WORK(pending_work, apply_pending);

void marker_newcomers_init(struct newcomers *newcomers, struct marker_event_source *source)
{
	newcomers->source = source;
	INIT_LIST_HEAD(&newcomers->fresh);
	INIT_LIST_HEAD(&newcomers->stale);
}

static u32 hash_of(const char *name)
{
	return jhash(name, strlen(name), 0);
}

struct marker_event *marker_event_find(const char *system, const char *name)
{
	struct marker_event *event;

	lockdep_assert_held(marker_event_names.lock);
	hash_for_each_possible(marker_event_names.names, event, node, hash_of(name))
		if (!strcmp(event->name, name) && !strcmp(event->system, system))
			return event;
	return NULL;
}

/* Adopt an orphan: make it an ordinary event again. It drops its reference to this module. */
static void adopt_event(struct marker_event *event, struct marker_event_source *source,
			struct module *module)
{
	event->orphan = false;
	event->source = source;
	marker_event_own(event, module);
	module_put(THIS_MODULE);
}

static void mark_offer_made(const struct marker_event_offer *offer)
{
	if (offer->made)
		*offer->made = true;
}

/*
 * Return true if @event decides an offer: it is the event of the offer, or its name or format
 * conflicts with it.  An event that the trace core removes decides nothing:
 * marker_events_module_gone() makes a new one.
 */
static bool decide_offer(struct newcomers *newcomers, struct marker_event *event,
			 const struct marker_event_offer *offer)
{
	bool same = !strcmp(event->format, offer->format);

	if (same)
		mark_offer_made(offer);
	if (event->orphan && same) {
		adopt_event(event, newcomers->source, offer->module);
		return true;
	}
	if (!list_empty(&event->list) && event->leaves && same) {
		event->leaves = false;
		list_del_init(&event->list);
		marker_event_own(event, offer->module);
	} else if (!list_empty(&event->list) && event->leaves) {
		hash_del(&event->node);
		list_move_tail(&event->list, &newcomers->stale);
		return false;
	} else if (!same && !event->leaves) {
		pr_warn("%s in %s: format \"%s\" is not \"%s\", that of its trace event: stays off there\n",
			offer->name, offer->place, offer->format, event->format);
	}
	return true;
}

/**
 * marker_event_accept() - create or reuse the event of an offer
 * @data: struct newcomers, which gets the event if it is new
 * @offer: the offer
 *
 * Return: 0.  What gets no event works without; the log says why.
 */
int marker_event_accept(void *data, const struct marker_event_offer *offer)
{
	struct marker_event *event = marker_event_find(offer->system, offer->name);
	struct newcomers *newcomers = data;

	if (event && decide_offer(newcomers, event, offer))
		return 0;
	if (!marker_event_can_have(offer)) {
		pr_warn("%.64s in %s: no trace event: not a valid event name\n", offer->name,
			offer->place);
		return 0;
	}
	event = marker_event_make(offer);
	if (!event) {
		pr_warn("%s: no trace event: no memory\n", offer->name);
		return 0;
	}
	event->source = newcomers->source;
	hash_add(marker_event_names.names, &event->node, hash_of(event->name));
	list_add_tail(&event->list, &newcomers->fresh);
	mark_offer_made(offer);
	return 0;
}

static void add_event(struct marker_event *event)
{
	int err = marker_event_add(event);

	if (!err)
		return;
	pr_warn("%s: no trace event: %s: error %d\n", event->name,
		err == -EINVAL ? "format cannot be printed" :
		err == -E2BIG ? "too many or too long arguments" : "refused", err);
	hash_del(&event->node);
	marker_event_free(event);
}

/**
 * marker_event_forget() - free an event that is not in the trace core
 * @event: the event
 *
 * An offer of the same name with another format, which had no event so far, gets one.
 */
void marker_event_forget(struct marker_event *event)
{
	struct marker_event_offer wanted = marker_event_offer(event);
	struct newcomers newcomers;

	hash_del(&event->node);
	marker_newcomers_init(&newcomers, event->source);
	wanted.format = NULL;
	/* Its module is not freed before marker_events_module_going(), which waits for our lock. */
	if (event->source)
		event->source->find(&wanted, marker_event_accept, &newcomers);
	marker_event_free(event);
	if (list_empty(&newcomers.fresh))
		return;
	event = list_first_entry(&newcomers.fresh, struct marker_event, list);
	list_del_init(&event->list);
	add_event(event);
}

/* Add a pending event, or remove one that is marked as leaving. */
static void apply_event(struct marker_event *event)
{
	list_del_init(&event->list);
	if (!event->leaves)
		add_event(event);
	else if (!WARN_ON_ONCE(marker_event_remove(event)))
		marker_event_forget(event);
}

static void apply_events(struct list_head *list, unsigned int most)
{
	for (; most && !list_empty(list); most--)
		apply_event(list_first_entry(list, struct marker_event, list));
}

/* The work item. It releases the lock after each event, so that others can take it. */
static void apply_pending(struct work_struct *work)
{
	bool more;

	do {
		mutex_lock(marker_event_names.lock);
		apply_events(&marker_event_names.pending, 1);
		more = !list_empty(&marker_event_names.pending);
		mutex_unlock(marker_event_names.lock);
		cond_resched();
	} while (more);
}

/* Add or remove all events of a list now. */
void marker_events_apply(struct list_head *list)
{
	apply_events(list, UINT_MAX);
}

/* Add or remove the first events of a list now, and queue the others for the work item. */
void marker_events_apply_first(struct list_head *list)
{
	apply_events(list, AT_ONCE);
	if (list_empty(list))
		return;
	list_splice_tail(list, &marker_event_names.pending);
	queue_work(marker_event_names.queue, &pending_work);
}
