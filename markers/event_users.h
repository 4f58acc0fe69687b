/* SPDX-License-Identifier: GPL-2.0-only */
/* Users of a trace event: trace buffers that record it, and perf. */
#ifndef MARKERS_EVENT_USERS_H
#define MARKERS_EVENT_USERS_H

#include <linux/trace_events.h>

struct marker_event;

int marker_event_reg(struct trace_event_call *call, enum trace_reg type, void *data);
void marker_event_drop_users(struct marker_event *event);

#endif /* MARKERS_EVENT_USERS_H */
