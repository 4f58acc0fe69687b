/* SPDX-License-Identifier: GPL-2.0-only */
/* Orphans: events that are no longer offered but still referenced; in the kernel only. */
#ifndef MARKERS_EVENT_ORPHANS_H
#define MARKERS_EVENT_ORPHANS_H

struct marker_event;
struct marker_event_source;

void marker_event_orphan(struct marker_event *event);
void marker_events_drop_source(struct marker_event_source *source);
void marker_event_orphans_exit(void);

#endif /* MARKERS_EVENT_ORPHANS_H */
