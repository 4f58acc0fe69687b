/* SPDX-License-Identifier: GPL-2.0-only */
/* Writing trace records of typed markers from arguments in CPU registers. */
#ifndef EVENTS_REGISTERS_H
#define EVENTS_REGISTERS_H

struct event_user;

void kmarkers_event_choose_register_writer(struct event_user *user);
void *kmarkers_event_get_register_writer(const void *user);

#endif /* EVENTS_REGISTERS_H */
