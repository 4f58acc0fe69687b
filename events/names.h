/* SPDX-License-Identifier: GPL-2.0-only */
/* Hash table of all trace events, and lists of events to add or remove; in the kernel only. */
#ifndef EVENTS_NAMES_H
#define EVENTS_NAMES_H

#include <linux/hashtable.h>
#include <linux/list.h>
#include <linux/mutex.h>

#include <kmarkers/event.h>

#define EVENT_NAME_BITS	10

struct kmarkers_event;

/**
 * struct event_names - all trace events
 * @removing: held while events may be removed from the trace core. Taken before @lock.
 * @lock: the kernel's event_mutex; NULL if trace events cannot be added to this kernel
 * @names: hash table of all trace events, by name
 * @pending: events that a work item adds to the trace core or, if @is_removed is set, removes
 */
struct event_names {
	struct mutex removing;
	struct mutex *lock;
	DECLARE_HASHTABLE(names, EVENT_NAME_BITS);
	struct list_head pending;
};

extern struct event_names kmarkers_event_names;

/* Walk over all trace events; the loop body may unhash and free @event. */
#define for_each_event_safe(event, next, bucket)			\
	hash_for_each_safe(kmarkers_event_names.names, bucket, next, event, node)

/**
 * struct event_changes - events to be added and removed because of new offers (requests for events)
 * @source: event source that makes the offers
 * @created: list of events that were created for offers, to be added to the trace core
 * @stale: list of events with the name of an offer but another format, to be removed
 */
struct event_changes {
	struct kmarkers_event_source *source;
	struct list_head created;
	struct list_head stale;
};

void kmarkers_events_lock(void);
void kmarkers_events_unlock(void);
void kmarkers_event_changes_init(struct event_changes *changes,
				 struct kmarkers_event_source *source);
int kmarkers_event_accept_offer(void *changes, const struct kmarkers_event_offer *offer);
struct kmarkers_event *kmarkers_event_find(const char *system, const char *name);
void kmarkers_event_make_orphan(struct kmarkers_event *event);
void kmarkers_event_unhash_and_free(struct kmarkers_event *event);
void kmarkers_events_add_or_remove_all(struct list_head *list);
void kmarkers_events_add_or_remove_first(struct list_head *list);

#endif /* EVENTS_NAMES_H */
