/* SPDX-License-Identifier: GPL-2.0-only */
/* Trace events of markers; in the kernel only. */
#ifndef MARKERS_EVENTS_H
#define MARKERS_EVENTS_H

#include <linux/types.h>

struct function_marker;

void marker_events_init(void);
void marker_events_exit(void);
void marker_events_flush(void);
int marker_switch_trace_events(const char *const *names, unsigned int nr, bool on);
bool marker_event_is_enabled(const char *name);
void marker_events_add_function(struct function_marker *function);
int marker_events_remove_function(struct function_marker *function);

#endif /* MARKERS_EVENTS_H */
