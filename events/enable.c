// SPDX-License-Identifier: GPL-2.0-only
/*
 * Enable and disable many events at once in the main trace buffer, for the control files of sources.
 *
 * The trace core exports one function for this, trace_set_clr_event(), which walks all events and
 * switches those of a system, or one of them.  To switch any set of events in a single walk, they
 * are of the system SELECTED for the time of the call.  Another task that switches events by the name
 * of their own system meanwhile misses the selected ones, as if it had done so before; one that
 * names a single selected event gets an error.
 *
 * The users that the trace core adds or removes during the walk are connected or disconnected as a
 * batch: see users.c.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/trace_events.h>

#include <kmarkers/event.h>

#include "call.h"
#include "enable.h"
#include "names.h"
#include "users.h"

static const char SELECTED[] = "kmarkers_selected";

/* Held while events are selected. Taken before event_mutex. */
static DEFINE_MUTEX(enabling);

/**
 * struct event_set - events of one system
 * @system: the system
 * @names: the names, each once
 * @nr: number of names
 */
struct event_set {
	const char *system;
	const char *const *names;
	unsigned int nr;
};

static bool can_be_enabled(struct kmarkers_event *event)
{
	return event && event->added && !event->leaves && !event->orphan;
}

static bool has_users(struct kmarkers_event *event)
{
	return event && !list_empty(&event->users);
}

static bool take_failed(struct kmarkers_event *event)
{
	bool failed = event && event->failed;

	if (failed)
		event->failed = false;
	return failed;
}

/* Select the events of a set for which @picks() returns true. Return their number. */
static unsigned int select_events(const struct event_set *set,
				  bool (*picks)(struct kmarkers_event *event))
{
	unsigned int i, nr = 0;

	for (i = 0; i < set->nr; i++) {
		struct kmarkers_event *event = kmarkers_event_find(set->system, set->names[i]);

		if (!picks(event))
			continue;
		event->class.system = SELECTED;
		nr++;
	}
	return nr;
}

static void unselect_events(const struct event_set *set)
{
	unsigned int i;

	for (i = 0; i < set->nr; i++) {
		struct kmarkers_event *event = kmarkers_event_find(set->system, set->names[i]);

		if (event && event->class.system == SELECTED)
			event->class.system = event->system;
	}
}

/* Log the names of a set that have no event. Return 0, or -EINVAL if there are any. */
static int check_events(const struct event_set *set)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < set->nr; i++) {
		if (can_be_enabled(kmarkers_event_find(set->system, set->names[i])))
			continue;
		pr_info("%.64s: has no trace event; the log says why where its module was loaded\n",
			set->names[i]);
		err = -EINVAL;
	}
	return err;
}

static int enable_events(const struct event_set *set, struct kmarkers_event_link *links)
{
	int err;

	mutex_lock(kmarkers_event_names.lock);
	err = check_events(set);
	if (!err) {
		select_events(set, can_be_enabled);
		kmarkers_event_batch_begin();
	}
	mutex_unlock(kmarkers_event_names.lock);
	if (err)
		return err;
	err = trace_set_clr_event(SELECTED, NULL, 1);
	mutex_lock(kmarkers_event_names.lock);
	unselect_events(set);
	err = kmarkers_event_batch_connect(links, err);
	if (err)
		select_events(set, take_failed);
	mutex_unlock(kmarkers_event_names.lock);
	if (!err)
		return 0;
	/* Disable the events whose users are not connected. */
	trace_set_clr_event(SELECTED, NULL, 0);
	mutex_lock(kmarkers_event_names.lock);
	unselect_events(set);
	mutex_unlock(kmarkers_event_names.lock);
	return err;
}

static void disable_events(const struct event_set *set, struct kmarkers_event_link *links)
{
	unsigned int nr;

	mutex_lock(kmarkers_event_names.lock);
	nr = select_events(set, has_users);
	kmarkers_event_batch_begin();
	mutex_unlock(kmarkers_event_names.lock);
	if (nr)
		trace_set_clr_event(SELECTED, NULL, 0);
	mutex_lock(kmarkers_event_names.lock);
	unselect_events(set);
	kmarkers_event_batch_disconnect(links);
	mutex_unlock(kmarkers_event_names.lock);
}

/**
 * kmarkers_events_enable() - enable or disable events in the main trace buffer
 * @system: their system
 * @names: their names, each once
 * @nr: number of names
 * @on: true to enable them
 *
 * An event that does not exist counts as disabled.
 *
 * Context: may sleep.
 * Return: 0; or as enable() in <kmarkers/event.h>.
 */
int kmarkers_events_enable(const char *system, const char *const *names, unsigned int nr, bool on)
{
	struct kmarkers_event_link *links = kvcalloc(nr, sizeof(*links), GFP_KERNEL);
	const struct event_set set = { system, names, nr };
	int err = 0;

	if (!links)
		return -ENOMEM;
	mutex_lock(&enabling);
	if (on)
		err = enable_events(&set, links);
	else
		disable_events(&set, links);
	mutex_unlock(&enabling);
	kvfree(links);
	return err;
}

/* Is an event enabled in the main trace buffer, and not only by a trigger that waits? */
bool kmarkers_event_is_enabled(const char *system, const char *name)
{
	struct trace_event_file *file = trace_get_event_file(NULL, system, name);
	bool enabled;

	if (IS_ERR(file))
		return false;
	enabled = file->flags & EVENT_FILE_FL_ENABLED &&
		  !(file->flags & EVENT_FILE_FL_SOFT_DISABLED);
	trace_put_event_file(file);
	return enabled;
}
