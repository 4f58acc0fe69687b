/* SPDX-License-Identifier: GPL-2.0-only */
/* Writing trace records of typed markers from arguments in registers. */
#ifndef MARKERS_EVENT_REGISTERS_H
#define MARKERS_EVENT_REGISTERS_H

struct event_user;

void marker_event_find_register_writer(struct event_user *user);
void marker_event_use_register_writers(void);

#endif /* MARKERS_EVENT_REGISTERS_H */
