// SPDX-License-Identifier: GPL-2.0-only
/*
 * Enable or disable many events at once in the main trace buffer, for the control files of event
 * sources.
 *
 * To switch events, the trace core exports only trace_set_clr_event().  This function walks over
 * all events, and switches either all events of one system or a single event.  To switch several
 * events in a single walk, this file changes the system of these events to SELECTED for the time of
 * the call.  If another task switches all events of the original system during this call, the
 * selected events are not switched, as if that task had run before this call.  If another task
 * switches a single selected event, that task gets an error.  If another task makes a trace
 * instance, the instance has the selected events in the directory SELECTED.
 *
 * The system of a referenced event is not changed; each referenced event is switched in a separate
 * walk.  The reason is event probes, which hold references to their events.  To remove the trigger
 * of an event probe, the trace core looks up the event by system and name.  If this lookup failed,
 * the trace core would free the probe, and the trigger would use freed memory.
 *
 * The users that the trace core adds or removes during the walk are connected or disconnected as a
 * batch: see users.c.
 */
#include <linux/bitmap.h>
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

/* Held while events have the system SELECTED. Taken before event_mutex. */
static DEFINE_MUTEX(enabling);

/**
 * struct event_set - events of one source and one system
 * @source: the source
 * @system: name of the system
 * @names: names of the events, without duplicates
 * @nr: number of names
 * @alone: bitmap of the selected events that are switched alone, and therefore keep their system:
 *	each event that is referenced, and an event that is the only one in the set
 */
struct event_set {
	struct kmarkers_event_source *source;
	const char *system;
	const char *const *names;
	unsigned int nr;
	unsigned long *alone;
};

static bool can_event_be_enabled(struct kmarkers_event *event)
{
	return event && event->added && !event->is_removed && !event->orphan;
}

static bool event_has_users(struct kmarkers_event *event)
{
	return event && !list_empty(&event->users);
}

static bool event_has_failed_user(struct kmarkers_event *event)
{
	return event && kmarkers_event_has_failed_user(event);
}

/*
 * Select each event of @set for which @is_selected() returns true: change its system to SELECTED
 * or, if the event is referenced or the only one, set its bit in @set->alone.  Return the number of
 * events whose system is SELECTED now.  While the system of an event is SELECTED, no task can take
 * a reference to the event, because a lookup by the original system does not find the event.
 */
static unsigned int select_events(const struct event_set *set,
				  bool (*is_selected)(struct kmarkers_event *event))
{
	unsigned int i, nr = 0;

	bitmap_zero(set->alone, set->nr);
	for (i = 0; i < set->nr; i++) {
		struct kmarkers_event *event = kmarkers_event_find(set->system, set->names[i]);

		if (!is_selected(event))
			continue;
		if (set->nr == 1 || kmarkers_event_is_referenced(event)) {
			__set_bit(i, set->alone);
			continue;
		}
		event->class.system = SELECTED;
		nr++;
	}
	return nr;
}

/*
 * Enable or disable the selected events, of which @nr have the system SELECTED.  Called without
 * event_mutex, which the trace core takes.  Return 0 or the first error of the trace core.
 */
static int switch_selected_events(const struct event_set *set, unsigned int nr, bool on)
{
	int err = nr ? trace_set_clr_event(SELECTED, NULL, on) : 0;
	unsigned int i;

	for_each_set_bit(i, set->alone, set->nr) {
		int found = trace_set_clr_event(set->system, set->names[i], on);

		/*
		 * -EINVAL means that the event is not found, because the event was removed after it
		 * was selected.
		 */
		if (found != -EINVAL)
			err = err ?: found;
	}
	return err;
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

/*
 * Log each name in @set for which there is no event that can be enabled. Return -EINVAL if a name
 * was logged, else 0.
 */
static int check_events_exist(const struct event_set *set)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < set->nr; i++) {
		if (can_event_be_enabled(kmarkers_event_find(set->system, set->names[i])))
			continue;
		pr_info("trace event %.64s does not exist: the reason was logged when its module was loaded\n",
			set->names[i]);
		err = -EINVAL;
	}
	return err;
}

static int enable_events(const struct event_set *set, struct kmarkers_event_link *links)
{
	unsigned int nr = 0;
	int err;

	mutex_lock(kmarkers_event_names.lock);
	err = check_events_exist(set);
	if (!err) {
		nr = select_events(set, can_event_be_enabled);
		kmarkers_event_batch_begin();
	}
	mutex_unlock(kmarkers_event_names.lock);
	if (err)
		return err;
	err = switch_selected_events(set, nr, true);
	mutex_lock(kmarkers_event_names.lock);
	unselect_events(set);
	err = kmarkers_event_batch_connect(set->source, links, err);
	if (err)
		nr = select_events(set, event_has_failed_user);
	mutex_unlock(kmarkers_event_names.lock);
	if (!err)
		return 0;
	/* The selected events now have a user that could not be connected: disable these events. */
	switch_selected_events(set, nr, false);
	mutex_lock(kmarkers_event_names.lock);
	unselect_events(set);
	mutex_unlock(kmarkers_event_names.lock);
	return err;
}

static void disable_events(const struct event_set *set, struct kmarkers_event_link *links)
{
	unsigned int nr;

	mutex_lock(kmarkers_event_names.lock);
	nr = select_events(set, event_has_users);
	kmarkers_event_batch_begin();
	mutex_unlock(kmarkers_event_names.lock);
	switch_selected_events(set, nr, false);
	mutex_lock(kmarkers_event_names.lock);
	unselect_events(set);
	kmarkers_event_batch_disconnect(set->source, links);
	mutex_unlock(kmarkers_event_names.lock);
}

/**
 * kmarkers_switch_events() - enable or disable events in the main trace buffer
 * @source: source of the events
 * @system: system of the events
 * @names: names of the events, without duplicates
 * @nr: number of names
 * @on: true to enable the events, false to disable them
 *
 * Disabling an event that does not exist succeeds.
 *
 * Context: may sleep.
 * Return: 0, or an error of enable() in struct kmarkers_event_calls.
 */
int kmarkers_switch_events(struct kmarkers_event_source *source, const char *system,
			   const char *const *names, unsigned int nr, bool on)
{
	struct kmarkers_event_link *links = kvcalloc(nr, sizeof(*links), GFP_KERNEL);
	unsigned long *alone = bitmap_zalloc(nr, GFP_KERNEL);
	const struct event_set set = { source, system, names, nr, alone };
	int err = -ENOMEM;

	if (!links || !alone)
		goto free;
	mutex_lock(&enabling);
	err = 0;
	if (on)
		err = enable_events(&set, links);
	else
		disable_events(&set, links);
	mutex_unlock(&enabling);
free:
	bitmap_free(alone);
	kvfree(links);
	return err;
}

/*
 * Return true if an event is enabled in the main trace buffer.  A soft-disabled event, which
 * records nothing until a trigger enables it, does not count as enabled.
 */
bool kmarkers_event_is_enabled(const char *system, const char *name)
{
	struct trace_event_file *file;
	bool enabled = false;

	/* This mutex keeps the event registered: in older kernels a reference does not. */
	mutex_lock(&kmarkers_event_names.removing);
	file = trace_get_event_file(NULL, system, name);
	if (!IS_ERR(file)) {
		enabled = file->flags & EVENT_FILE_FL_ENABLED &&
			  !(file->flags & EVENT_FILE_FL_SOFT_DISABLED);
		trace_put_event_file(file);
	}
	mutex_unlock(&kmarkers_event_names.removing);
	return enabled;
}
