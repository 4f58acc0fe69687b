/* SPDX-License-Identifier: GPL-2.0-only */
/* Hits as trace events: one of entries and one of exits. */
#ifndef ENTRY_EVENTS_H
#define ENTRY_EVENTS_H

#include <linux/types.h>

int entry_events_make(void);
void entry_events_exit(void);
void entry_events_hit(bool is_exit, unsigned long addr, unsigned long caller);

#endif /* ENTRY_EVENTS_H */
