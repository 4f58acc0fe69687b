/* SPDX-License-Identifier: GPL-2.0-only */
/* All trace events, and those that are to be added or removed; in the kernel only. */
#ifndef MARKERS_EVENT_NAMES_H
#define MARKERS_EVENT_NAMES_H

#include <linux/hashtable.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

#include <kmarkers/event.h>

#define EVENT_NAME_BITS	10

struct marker_event;

/**
 * struct event_names - all trace events
 * @lock: the kernel's event_mutex; NULL if there are no events
 * @names: all of them
 * @pending: to be added or, if they leave, removed
 * @queue: where the work item runs that does it
 */
struct event_names {
	struct mutex *lock;
	DECLARE_HASHTABLE(names, EVENT_NAME_BITS);
	struct list_head pending;
	struct workqueue_struct *queue;
};

extern struct event_names marker_event_names;

/* Walk over the events of a module; the event may be forgotten. */
#define for_each_event_safe(event, next, bucket)			\
	hash_for_each_safe(marker_event_names.names, bucket, next, event, node)

/**
 * struct newcomers - events to be added and removed because of offers
 * @source: who makes them
 * @fresh: events made of them, to be added
 * @stale: events of other formats with their names, to be removed
 */
struct newcomers {
	struct marker_event_source *source;
	struct list_head fresh;
	struct list_head stale;
};

void marker_newcomers_init(struct newcomers *newcomers, struct marker_event_source *source);
int marker_event_accept(void *newcomers, const struct marker_event_offer *offer);
struct marker_event *marker_event_find(const char *system, const char *name);
void marker_event_forget(struct marker_event *event);
void marker_events_apply(struct list_head *list);
void marker_events_apply_first(struct list_head *list);

#endif /* MARKERS_EVENT_NAMES_H */
