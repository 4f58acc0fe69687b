// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names of markers as trace events: which there are, and when.
 *
 * One name is one event, of the format that its first marker has.  The trace core has
 * it as the event of a module that has such a marker, which perf keeps loaded.  When this
 * module leaves, another one that has such a marker gets the event, or the event leaves.
 *
 * To add an event makes up to nine files in tracefs.  insmod waits for the first events
 * of a module, and rmmod for the removal of as many; a work item does the others.
 *
 * An event that was on has left records in buffers, which only the trace core can empty,
 * and may have triggers: it stays an event of its module, and the notifier of the trace
 * core, which has priority 1, removes it between marker_events_go() and
 * marker_events_gone().  All other events are removed by us.
 *
 * Lock order: attaching (functions.c), event_mutex, then the lock of the registry.  The
 * trace core calls marker_event_reg() under trace_types_lock as well, so neither that
 * lock nor a call that takes it is taken under the registry's.  The work item takes
 * event_mutex for one event at a time; nobody who holds a lock of these waits for it.
 */
#include <linux/errno.h>
#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include <kmarkers/marker.h>
#include <kmarkers/redirect.h>

#include "event_call.h"
#include "event_registers.h"
#include "event_users.h"
#include "events.h"
#include "ftrace.h"
#include "look.h"
#include "tables.h"

#define NAME_BITS	10
#define AT_ONCE		32	/* events that insmod or rmmod waits for */

static void settle_pending(struct work_struct *work);

static struct {
	struct mutex *lock;	/* the kernel's event_mutex; NULL if there are no events */
	DECLARE_HASHTABLE(names, NAME_BITS);
	struct list_head pending;	/* to be added or, if they leave, removed */
	struct work_struct work;
	struct workqueue_struct *queue;
} events = {
	.pending = LIST_HEAD_INIT(events.pending),
	.work = __WORK_INITIALIZER(events.work, settle_pending),
};

/* The markers of a module, or one of a function. */
struct newcomers {
	struct module *module;
	struct list_head fresh;	/* events made of them, to be added */
	struct list_head stale;	/* events of other formats with their names, to be removed */
};

static void init_newcomers(struct newcomers *newcomers, struct module *module)
{
	newcomers->module = module;
	INIT_LIST_HEAD(&newcomers->fresh);
	INIT_LIST_HEAD(&newcomers->stale);
}

static u32 hash_of(const char *name)
{
	return jhash(name, strlen(name), 0);
}

static struct marker_event *find_event(const char *name)
{
	struct marker_event *event;

	lockdep_assert_held(events.lock);
	hash_for_each_possible(events.names, event, node, hash_of(name))
		if (!strcmp(event->name, name))
			return event;
	return NULL;
}

/*
 * Is this event that of the marker, or the one that forbids it?  If not, there is none.  An event
 * that the trace core removes is not used again: marker_events_gone() makes a new one.
 */
static bool meet_event(struct newcomers *newcomers, struct marker_event *event,
		       const struct marker *marker)
{
	bool same = !strcmp(event->format, marker->format);

	if (!list_empty(&event->list) && event->leaves && same) {
		event->leaves = false;
		list_del_init(&event->list);
		marker_event_own(event, newcomers->module);
	} else if (!list_empty(&event->list) && event->leaves) {
		hash_del(&event->node);
		list_move_tail(&event->list, &newcomers->stale);
		return false;
	} else if (!same && !event->leaves) {
		pr_warn("%s in %s(): format \"%s\" is not \"%s\", that of its trace event: stays off there\n",
			marker->name, marker->func, marker->format, event->format);
	}
	return true;
}

static int note_marker(void *data, const struct marker *marker)
{
	struct marker_event *event = find_event(marker->name);
	struct newcomers *newcomers = data;

	if (event && meet_event(newcomers, event, marker))
		return 0;
	if (!marker_event_can_have(marker->name)) {
		pr_warn("%.64s in %s(): no trace event: its name cannot be one\n", marker->name,
			marker->func);
		return 0;
	}
	event = marker_event_make(marker->name, marker->format);
	if (!event) {
		pr_warn("%s: no trace event: no memory\n", marker->name);
		return 0;
	}
	event->owner = newcomers->module;
	hash_add(events.names, &event->node, hash_of(event->name));
	list_add_tail(&event->list, &newcomers->fresh);
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

/*
 * Forget an event that the trace core does not know.  A marker of its name that has
 * another format had no event so far: it gets one.
 */
static void forget_event(struct marker_event *event)
{
	const struct marker *marker;
	struct newcomers newcomers;
	struct module *module;

	hash_del(&event->node);
	marker = marker_ready_find(event->name, NULL, &module);
	marker_event_free(event);
	if (!marker)
		return;
	/* Its module cannot be freed before marker_events_go(), which waits for our lock. */
	init_newcomers(&newcomers, module);
	note_marker(&newcomers, marker);
	if (list_empty(&newcomers.fresh))
		return;
	event = list_first_entry(&newcomers.fresh, struct marker_event, list);
	list_del_init(&event->list);
	add_event(event);
}

/* Add an event that is to be added; remove one that leaves. */
static void settle_event(struct marker_event *event)
{
	list_del_init(&event->list);
	if (!event->leaves)
		add_event(event);
	else if (!WARN_ON_ONCE(marker_event_remove(event)))
		forget_event(event);
}

static void settle(struct list_head *list, unsigned int most)
{
	for (; most && !list_empty(list); most--)
		settle_event(list_first_entry(list, struct marker_event, list));
}

/* The work item.  Between two events, others may have the lock. */
static void settle_pending(struct work_struct *work)
{
	bool more;

	do {
		mutex_lock(events.lock);
		settle(&events.pending, 1);
		more = !list_empty(&events.pending);
		mutex_unlock(events.lock);
		cond_resched();
	} while (more);
}

static void settle_first(struct list_head *list)
{
	settle(list, AT_ONCE);
	if (list_empty(list))
		return;
	list_splice_tail(list, &events.pending);
	queue_work(events.queue, &events.work);
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
	struct newcomers newcomers;

	if (!events.lock)
		return;
	init_newcomers(&newcomers, module);
	mutex_lock(events.lock);
	marker_tables_ready(module);
	marker_visit(NULL, module, note_marker, &newcomers);
	settle(&newcomers.stale, UINT_MAX);
	settle_first(&newcomers.fresh);
	mutex_unlock(events.lock);
}

/* To another module, or away: at once, by us soon, or by the trace core. */
static void give_away(struct marker_event *event, struct list_head *leaving)
{
	struct module *next;

	if (marker_ready_find(event->name, event->format, &next)) {
		marker_event_own(event, next);
	} else if (!event->added) {
		list_del_init(&event->list);
		forget_event(event);
	} else {
		event->leaves = true;
		/* Later, markers of other modules may have the name, and may be hit. */
		marker_event_drop_users(event);
		if (event->used)
			return;
		marker_event_own(event, NULL);
		list_add_tail(&event->list, leaving);
	}
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
	struct hlist_node *next;
	LIST_HEAD(leaving);
	int bucket;

	if (!events.lock)
		return;
	mutex_lock(events.lock);
	hash_for_each_safe(events.names, bucket, next, event, node)
		if (event->owner == module)
			give_away(event, &leaving);
	settle_first(&leaving);
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
	hash_for_each_safe(events.names, bucket, next, event, node)
		if (event->leaves && event->owner == module)
			forget_event(event);
	mutex_unlock(events.lock);
}

/**
 * marker_events_attach() - make an event of a marker that root put on a function
 * @function: the function and its marker
 *
 * Context: may sleep.
 */
void marker_events_attach(struct function_marker *function)
{
	struct newcomers newcomers;

	if (!events.lock)
		return;
	init_newcomers(&newcomers, function->owner);
	mutex_lock(events.lock);
	function->ready = true;
	note_marker(&newcomers, &function->marker);
	settle(&newcomers.stale, UINT_MAX);
	settle(&newcomers.fresh, UINT_MAX);
	mutex_unlock(events.lock);
}

static int detach_event(struct marker_event *event)
{
	struct module *next;
	int err;

	/* perf and BPF have a reference to the owner. */
	if (!list_empty(&event->users))
		return -EBUSY;
	if (marker_ready_find(event->name, event->format, &next)) {
		marker_event_own(event, next);
		return 0;
	}
	err = marker_event_remove(event);
	if (!err)
		forget_event(event);
	return err;
}

/**
 * marker_events_detach() - let go of the event of a function's marker, which is to leave
 * @function: the function and its marker
 *
 * Context: may sleep.
 * Return: 0; or -EBUSY if somebody has the event on.
 */
int marker_events_detach(struct function_marker *function)
{
	const struct marker *marker = &function->marker;
	struct marker_event *event;
	int err = 0;

	if (!events.lock)
		return 0;
	mutex_lock(events.lock);
	function->ready = false;
	event = find_event(marker->name);
	if (event && event->added && !event->leaves && !strcmp(event->format, marker->format))
		err = detach_event(event);
	if (err)
		function->ready = true;
	mutex_unlock(events.lock);
	return err;
}

/* Wait for the events of all modules that were loaded or unloaded before. */
void marker_events_flush(void)
{
	if (events.lock)
		flush_workqueue(events.queue);
}

/* Without the lock there are no events, and all else works. */
int __init marker_events_init(void)
{
	struct mutex *lock = (struct mutex *)patcher_find_symbol("event_mutex");

	if (!lock || marker_event_find_calls()) {
		pr_warn("no trace events of markers: event_mutex, or a call that adds or removes one, cannot be found\n");
		return 0;
	}
	events.queue = alloc_workqueue("kmarkers_events", WQ_UNBOUND, 1);
	if (!events.queue)
		return -ENOMEM;
	events.lock = lock;
	marker_event_use_twins();
	return 0;
}

/* No module with markers is left.  The work item removes what is left of their events. */
void marker_events_exit(void)
{
	if (events.lock)
		destroy_workqueue(events.queue);
	WARN_ON_ONCE(!hash_empty(events.names));
}
