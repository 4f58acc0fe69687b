/* SPDX-License-Identifier: GPL-2.0-only */
/* Writing hits as trace records. */
#ifndef EVENTS_WRITE_H
#define EVENTS_WRITE_H

#include <linux/kernel.h>

void kmarkers_event_write_record(void *user, const unsigned long *args);
void kmarkers_event_probe(void *user, void *call_private, const char *format, va_list *args);

#endif /* EVENTS_WRITE_H */
