/* SPDX-License-Identifier: GPL-2.0-only */
/* The trace probe, which turns hits of markers into trace events. */
#ifndef MARKERS_EVENT_PROBE_H
#define MARKERS_EVENT_PROBE_H

#include <kmarkers/marker.h>

int marker_event_init(void);
void marker_event_exit(void);

/* Enable the trace event, so that the kernel's main trace buffer shows hits of the trace probe. */
int marker_event_enable(void);

void marker_event_probe(void *private, void *call_private, const char *fmt, va_list *args);

/* How many hits the trace probe skipped because it was running in the same context already. */
unsigned long marker_event_nested(void);

#endif /* MARKERS_EVENT_PROBE_H */
