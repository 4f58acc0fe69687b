/* SPDX-License-Identifier: GPL-2.0-only */
/* Enabling and disabling events in the main trace buffer. */
#ifndef EVENTS_ENABLE_H
#define EVENTS_ENABLE_H

#include <linux/types.h>

struct kmarkers_event_source;

int kmarkers_switch_events(struct kmarkers_event_source *source, const char *system,
			   const char *const *names, unsigned int nr, bool on);
bool kmarkers_event_is_enabled(const char *system, const char *name);

#endif /* EVENTS_ENABLE_H */
