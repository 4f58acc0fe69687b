// SPDX-License-Identifier: GPL-2.0-only
/*
 * References to events, and orphans: events that are referenced after their last offer was
 * withdrawn.
 *
 * perf, event probes, and triggers and commands of ftrace that switch an event take a reference
 * with trace_event_try_get_ref(), event probes also while the event is off.  Through it they look
 * at our struct trace_event_call, its class and its fields.
 *
 * A reference is counted in the event (TRACE_EVENT_FL_DYNAMIC), or it is one to a module.  Here it
 * is counted in the event, of whatever source: a count of references to a module would not say
 * whether this event is meant, so "detach" and "-event" could not refuse to remove it; and the
 * module that offers an event is not what a reference needs.  An event is a copy of what was
 * offered, and all code that it needs is ours.  So while somebody has a reference,
 *
 * - "detach" and "-event" are refused with -EBUSY;
 * - a module that offers the event may leave.  If another one offers it, the event is that one's,
 *   and nothing else changes.  If not, the event is an *orphan*: it stays, nobody can switch it on,
 *   and it is removed when no reference is left and no buffer has it on.  If it is offered again,
 *   it is as before;
 * - this module stays.  It is held by each module with markers, by each source that uses
 *   marker_event_calls, by each marker on a function, and by each orphan;
 * - the module of an event that perf uses stays, because event_users.c takes that reference.
 *
 * The trace core does not say when a reference is put, so a work item looks at orphans each second.
 *
 * A kernel before 5.15, or without dynamic events, has no event probes, and its references are to
 * modules.  Whoever has one has the event on, so event->users tells; and the module of an event,
 * which is never one whose init may yet fail, does not leave before.
 */
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "event_call.h"
#include "event_names.h"
#include "event_orphans.h"
#include "event_users.h"

static void look_at_orphans(struct work_struct *work);
static DECLARE_DELAYED_WORK(orphans_work, look_at_orphans);

static void look_later(void)
{
	queue_delayed_work(marker_event_names.queue, &orphans_work, HZ);
}

/**
 * marker_event_orphan() - keep a referenced event whose last offer was withdrawn
 * @event: the event; whoever has it on gets its records again when it is adopted
 *
 * To switch it on is an error, also by the file enable of its system.  It has no
 * TRACE_EVENT_FL_IGNORE_ENABLE, with which the trace core would not find it to switch it off either.
 */
void marker_event_orphan(struct marker_event *event)
{
	lockdep_assert_held(marker_event_names.lock);
	__module_get(THIS_MODULE);
	event->orphan = true;
	event->owner = NULL;
	look_later();
}

/* Return whether an orphan was removed. */
static bool remove_orphan(struct marker_event *event)
{
	/* It also stays while it is enabled in a buffer. */
	if (marker_event_is_held(event) || marker_event_remove(event))
		return false;
	event->orphan = false;
	marker_event_forget(event);
	/* Our exit waits for this work item. */
	module_put(THIS_MODULE);
	return true;
}

static void look_at_orphans(struct work_struct *work)
{
	struct marker_event *event;
	struct hlist_node *next;
	bool more = false;
	int bucket;

	mutex_lock(marker_event_names.lock);
	for_each_event_safe(event, next, bucket)
		if (event->orphan && !remove_orphan(event))
			more = true;
	if (more)
		look_later();
	mutex_unlock(marker_event_names.lock);
}

/**
 * marker_events_lose_source() - make orphans of the referenced events of a source
 * @source: the source, which leaves
 */
void marker_events_lose_source(struct marker_event_source *source)
{
	struct marker_event *event;
	struct hlist_node *next;
	int bucket;

	for_each_event_safe(event, next, bucket) {
		if (event->source != source)
			continue;
		if (!event->orphan && marker_event_is_held(event))
			marker_event_orphan(event);
		if (!event->orphan)
			continue;
		marker_event_drop_users(event);
		event->source = NULL;
	}
}

/* There are no orphans, because each holds a reference to this module. */
void marker_event_orphans_exit(void)
{
	cancel_delayed_work_sync(&orphans_work);
}
