/* SPDX-License-Identifier: GPL-2.0-only */
/* Orphans: events that are no longer offered but still referenced; in the kernel only. */
#ifndef EVENTS_ORPHANS_H
#define EVENTS_ORPHANS_H

struct kmarkers_event;
struct kmarkers_event_source;

void kmarkers_event_queue_check(void);
void kmarkers_event_make_orphan(struct kmarkers_event *event);
void kmarkers_events_make_orphans_of_source(struct kmarkers_event_source *source);
void kmarkers_event_cancel_check(void);

#endif /* EVENTS_ORPHANS_H */
