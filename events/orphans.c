// SPDX-License-Identifier: GPL-2.0-only
/*
 * References to events, and orphans: events that are no longer offered but still referenced.
 *
 * perf, event probes, and ftrace's triggers and commands that enable or disable an event take a
 * reference to it with trace_event_try_get_ref(); event probes hold it also while the event is
 * disabled.  They then read the struct trace_event_call of the event, its class and its fields.
 *
 * The trace core counts references in the event (TRACE_EVENT_FL_DYNAMIC) or in a module.  Here they
 * are counted in the event.  The reference count of a module would not tell which event is
 * referenced, so the commands "detach" and "-event" could not refuse to remove it.  The module that
 * offers an event is not needed, either: an event is a copy of its offer, and all its code is in
 * kmarkers_markers.  While an event is referenced,
 *
 * - "detach" and "-event" are refused with -EBUSY;
 * - a module that offers the event may be unloaded.  If another module offers it, that module
 *   becomes the owner, and nothing else changes.  If not, the event becomes an *orphan*: it cannot
 *   be enabled, and is removed when it is neither referenced nor enabled in a buffer.  If it is
 *   offered again, it becomes an ordinary event again;
 * - this module stays loaded.  Each source that has joined and each orphan has a reference to it;
 * - the module of an event that perf uses stays loaded, because users.c takes a reference.
 *
 * The trace core does not report when a reference is put, so a work item checks all orphans once a
 * second.
 *
 * A kernel before 5.15, or without dynamic events, has no event probes, and counts references in
 * modules.  There an event is referenced only while it is enabled, so that event->users is not
 * empty, and its module is not unloaded meanwhile.  The module of an event is never one whose init
 * may still fail, which would free the module despite references.
 */
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "call.h"
#include "names.h"
#include "orphans.h"
#include "users.h"

static void remove_unused_orphans(struct work_struct *work);
static DECLARE_DELAYED_WORK(orphans_work, remove_unused_orphans);

static void queue_orphans_check(void)
{
	queue_delayed_work(kmarkers_event_names.queue, &orphans_work, HZ);
}

/**
 * kmarkers_event_orphan() - make an orphan of a referenced event that is no longer offered
 * @event: the event; buffers that have it enabled get records again after adopt_event()
 *
 * Enabling an orphan fails, also through the file enable of its system.
 * TRACE_EVENT_FL_IGNORE_ENABLE is not set: with it, the trace core could not disable it either.
 */
void kmarkers_event_orphan(struct kmarkers_event *event)
{
	lockdep_assert_held(kmarkers_event_names.lock);
	__module_get(THIS_MODULE);
	event->orphan = true;
	event->owner = NULL;
	queue_orphans_check();
}

/* Remove an orphan that is neither referenced nor enabled.  Return true if it was removed. */
static bool remove_orphan(struct kmarkers_event *event)
{
	/* kmarkers_event_remove() fails while the event is enabled in a buffer. */
	if (kmarkers_event_is_held(event) || kmarkers_event_remove(event))
		return false;
	event->orphan = false;
	kmarkers_event_forget(event);
	/* The module is not freed before this returns: its exit waits for this work item. */
	module_put(THIS_MODULE);
	return true;
}

static void remove_unused_orphans(struct work_struct *work)
{
	struct kmarkers_event *event;
	struct hlist_node *next;
	bool more = false;
	int bucket;

	mutex_lock(kmarkers_event_names.lock);
	for_each_event_safe(event, next, bucket)
		if (event->orphan && !remove_orphan(event))
			more = true;
	if (more)
		queue_orphans_check();
	mutex_unlock(kmarkers_event_names.lock);
}

/**
 * kmarkers_events_drop_source() - make orphans of the referenced events of a source
 * @source: the source that is being unregistered
 */
void kmarkers_events_drop_source(struct kmarkers_event_source *source)
{
	struct kmarkers_event *event;
	struct hlist_node *next;
	int bucket;

	for_each_event_safe(event, next, bucket) {
		if (event->source != source)
			continue;
		if (!event->orphan && kmarkers_event_is_held(event))
			kmarkers_event_orphan(event);
		if (!event->orphan)
			continue;
		kmarkers_event_drop_users(event);
		event->source = NULL;
	}
}

/* Cancel the work item.  No orphan exists, because each has a reference to this module. */
void kmarkers_event_orphans_exit(void)
{
	cancel_delayed_work_sync(&orphans_work);
}
