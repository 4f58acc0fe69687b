/* SPDX-License-Identifier: GPL-2.0-only */
/* The built-in probe "trace", which writes hits of markers as the trace event kmarkers:marker. */
#ifndef MARKERS_EVENT_PROBE_H
#define MARKERS_EVENT_PROBE_H

#include <kmarkers/marker.h>

int marker_event_init(void);
void marker_event_exit(void);

/* Enable kmarkers:marker in the kernel's main trace buffer, which then records these hits. */
int marker_event_enable(void);

void marker_event_probe(void *private, void *call_private, const char *fmt, va_list *args);

/* Return the number of hits skipped because the probe was running in the same context already. */
unsigned long marker_event_nested(void);

#endif /* MARKERS_EVENT_PROBE_H */
