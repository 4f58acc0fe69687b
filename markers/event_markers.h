/* SPDX-License-Identifier: GPL-2.0-only */
/* Event source for markers; in the kernel only. */
#ifndef MARKERS_EVENT_MARKERS_H
#define MARKERS_EVENT_MARKERS_H

#include <kmarkers/event.h>

struct marker;

extern struct marker_event_source marker_event_markers;

int marker_event_offer_marker(const struct marker *marker, struct module *module,
			      marker_event_visitor *visit, void *data);

#endif /* MARKERS_EVENT_MARKERS_H */
