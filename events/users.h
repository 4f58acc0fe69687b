/* SPDX-License-Identifier: GPL-2.0-only */
/* Users of a trace event: trace buffers that record it, and perf. */
#ifndef EVENTS_USERS_H
#define EVENTS_USERS_H

#include <linux/trace_events.h>

struct kmarkers_event;
struct kmarkers_event_link;
struct kmarkers_event_source;

int kmarkers_event_reg(struct trace_event_call *call, enum trace_reg type, void *data);
void kmarkers_event_connect_users(struct kmarkers_event *event, bool include_refused);
void kmarkers_event_disconnect_users(struct kmarkers_event *event);
void kmarkers_event_remove_users(struct kmarkers_event *event);
void kmarkers_event_batch_begin(void);
int kmarkers_event_batch_connect(struct kmarkers_event_source *source,
				 struct kmarkers_event_link *links, int err);
void kmarkers_event_batch_disconnect(struct kmarkers_event_source *source,
				     struct kmarkers_event_link *links);
bool kmarkers_event_has_failed_user(const struct kmarkers_event *event);

#endif /* EVENTS_USERS_H */
