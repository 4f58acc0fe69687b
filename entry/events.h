/* SPDX-License-Identifier: GPL-2.0-only */
/* Trace events of function entries and exits. */
#ifndef ENTRY_EVENTS_H
#define ENTRY_EVENTS_H

int entry_events_register(void);
void entry_events_exit(void);

#endif /* ENTRY_EVENTS_H */
