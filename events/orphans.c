// SPDX-License-Identifier: GPL-2.0-only
/*
 * References to events, and orphans: events that are no longer offered but still referenced.
 *
 * A reference to an event is taken with trace_event_try_get_ref() by perf, by event probes, and by
 * ftrace's triggers and commands that enable or disable the event.  An event probe holds the
 * reference even while the event is disabled.  All holders of a reference read the struct
 * trace_event_call of the event, its class and its fields.
 *
 * The trace core counts references in the event if the event has the flag TRACE_EVENT_FL_DYNAMIC,
 * else in the module of the event.  The events of kmarkers_events have the flag.  The reference
 * count of a module would not show which of its events is referenced, so the commands "detach" and
 * "-event" could not refuse to remove the referenced event.  A referenced event does not need the
 * module that offers it: the event has copies of the offer's strings, and all its code is in this
 * module, kmarkers_events.  While an event is referenced,
 *
 * - the commands "detach" and "-event" fail with -EBUSY;
 * - a module that offers the event may be unloaded.  If another module also offers the event, that
 *   module becomes the owner, and nothing else changes.  If no other module offers the event, the
 *   event becomes an *orphan*: only triggers and event probes can enable the event, and the event
 *   is removed once it is neither referenced nor enabled in a buffer.  If a module offers the event
 *   before the removal, the orphan becomes an ordinary event;
 * - this module stays loaded, because each registered source and each orphan holds a reference to
 *   this module;
 * - if perf uses the event, the owner stays loaded, because users.c takes a reference to the owner.
 *
 * The trace core does not report when a reference is put, so a work item checks all orphans once a
 * second.
 *
 * A kernel before 5.15, or without dynamic events, has no event probes, and counts references in
 * modules.  In such a kernel only an enabled event is referenced.  While an event is enabled,
 * event->users is not empty, and the reference keeps the module from being unloaded.  Only a module
 * whose init has succeeded gets events, because a module whose init fails is freed despite
 * references.
 */
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "call.h"
#include "names.h"
#include "orphans.h"
#include "users.h"
#include "work.h"

/* Remove an orphan if it is neither referenced nor enabled.  Return true if it was removed. */
static bool remove_orphan_if_unused(struct kmarkers_event *event)
{
	/* kmarkers_event_remove_from_core() fails while the event is enabled in a buffer. */
	if (kmarkers_event_is_referenced(event) || kmarkers_event_remove_from_core(event))
		return false;
	event->orphan = false;
	kmarkers_event_unhash_and_free(event);
	/* Now this module may be unloaded, but the exit function waits for this work item. */
	module_put(THIS_MODULE);
	return true;
}

/*
 * Work item: remove the orphans that are not used any more, and retry to connect unconnected users.
 * When this module is unloaded no orphan is left, because each orphan holds a reference to it.
 */
void kmarkers_events_remove_orphans_and_connect_users(struct work_struct *work)
{
	struct kmarkers_event *event;
	struct hlist_node *next;
	bool refused = kmarkers_event_take_retry(), more = false;
	int bucket;

	kmarkers_events_lock();
	for_each_event_safe(event, next, bucket) {
		if (!event->orphan)
			kmarkers_event_connect_users(event, refused);
		else if (!remove_orphan_if_unused(event))
			more = true;
	}
	if (more)
		kmarkers_event_queue_check_work();
	kmarkers_events_unlock();
}

/**
 * kmarkers_events_make_orphans_of_source() - make orphans of the enabled or referenced events of a
 * source
 * @source: the source that is being unregistered
 *
 * Users of these events are kept, but get no hits before a source offers the event again.
 */
void kmarkers_events_make_orphans_of_source(struct kmarkers_event_source *source)
{
	struct kmarkers_event *event;
	struct hlist_node *next;
	int bucket;

	for_each_event_safe(event, next, bucket) {
		if (event->source != source)
			continue;
		if (!event->orphan && event->added && !event->is_removed &&
		    kmarkers_event_is_in_use(event))
			kmarkers_event_make_orphan(event);
		if (!event->orphan)
			continue;
		kmarkers_event_disconnect_users(event);
		event->source = NULL;
	}
}
