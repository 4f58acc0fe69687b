/* SPDX-License-Identifier: GPL-2.0-only */
/* The trace probe, which turns hits of markers into trace events. */
#ifndef MARKERS_EVENT_PROBE_H
#define MARKERS_EVENT_PROBE_H

#include <kmarkers/marker.h>

int event_init(void);
void event_exit(void);

/* Make hits of the trace probe visible to who reads the kernel's main trace buffer. */
int event_enable(void);

void probe_trace(void *private, void *call_private, const char *fmt, va_list *args);

/* How often the trace probe met itself and said nothing. */
unsigned long event_nested(void);

#endif /* MARKERS_EVENT_PROBE_H */
