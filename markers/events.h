/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of markers as trace events: which there are, and when.  In the kernel only. */
#ifndef MARKERS_EVENTS_H
#define MARKERS_EVENTS_H

struct marker;
struct module;

int marker_events_init(void);
void marker_events_exit(void);
void marker_events_come(struct module *module);
void marker_events_go(struct module *module);
void marker_events_gone(struct module *module);
void marker_events_attach(const struct marker *marker, struct module *module);
int marker_events_detach(const struct marker *marker);
void marker_events_flush(void);

#endif /* MARKERS_EVENTS_H */
