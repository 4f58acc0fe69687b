/* SPDX-License-Identifier: GPL-2.0-only */
/* Orphans: events that no module offers but that are still referenced.  User space has none. */
#ifndef EVENTS_ORPHANS_H
#define EVENTS_ORPHANS_H

struct kmarkers_event_source;
struct work_struct;

void kmarkers_events_make_orphans_of_source(struct kmarkers_event_source *source);
void kmarkers_events_remove_orphans_and_connect_users(struct work_struct *work);

#endif /* EVENTS_ORPHANS_H */
