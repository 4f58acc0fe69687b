/* SPDX-License-Identifier: GPL-2.0-only */
/* Writing hits as trace records. */
#ifndef MARKERS_EVENT_WRITE_H
#define MARKERS_EVENT_WRITE_H

#include <kmarkers/marker.h>

void marker_event_to_buffer(void *user, void *call_private, const char *fmt, va_list *args);
void marker_event_write(void *user, const unsigned long *args);
void marker_event_to_perf(void *user, void *call_private, const char *fmt, va_list *args);

#endif /* MARKERS_EVENT_WRITE_H */
