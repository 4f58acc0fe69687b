// SPDX-License-Identifier: GPL-2.0-only
/* Event source for markers: each name is one event. */
#include <linux/kernel.h>

#include <kmarkers/marker.h>

#include "event_call.h"
#include "event_markers.h"
#include "event_write.h"
#include "look.h"
#include "tables.h"

#define PLACE_BYTES	160

/**
 * marker_event_offer_marker() - offer a trace event for a marker
 * @marker: the marker
 * @module: the module that is to own the event
 * @visit: called with the offer
 * @data: passed to @visit
 *
 * Return: the return value of @visit.
 */
int marker_event_offer_marker(const struct marker *marker, struct module *module,
			      marker_event_visitor *visit, void *data)
{
	char place[PLACE_BYTES];
	struct marker_event_offer offer = {
		.system = EVENT_SYSTEM, .name = marker->name, .format = marker->format,
		.place = place, .module = module,
	};

	snprintf(place, sizeof(place), "%s()", marker->func);
	return visit(data, &offer);
}

struct marker_walk {
	struct module *module;
	marker_event_visitor *visit;
	void *data;
};

static int offer_next(void *data, const struct marker *marker)
{
	struct marker_walk *walk = data;

	return marker_event_offer_marker(marker, walk->module, walk->visit, walk->data);
}

static int visit_markers(struct module *module, marker_event_visitor *visit, void *data)
{
	struct marker_walk walk = { module, visit, data };

	return marker_visit(NULL, module, offer_next, &walk);
}

static int offer_ready_marker(const struct marker_event_offer *wanted, marker_event_visitor *visit,
			      void *data)
{
	const struct marker *marker;
	struct module *module;

	marker = marker_ready_find(wanted->name, wanted->format, &module);
	return marker ? marker_event_offer_marker(marker, module, visit, data) : 0;
}

/* Let the markers of a module be events.  With @on false they are unregistered already. */
static bool make_markers_ready(struct module *module, bool on)
{
	return on && marker_tables_set_ready(module);
}

static marker_probe_func *writer_of(const struct event_user *user)
{
	return user->file ? marker_event_to_buffer : marker_event_to_perf;
}

static int connect_markers(const struct marker_event_offer *event, void *user)
{
	return marker_probe_register(event->name, event->format, writer_of(user), user);
}

static int disconnect_markers(const struct marker_event_offer *event, void *user)
{
	return marker_probe_unregister(event->name, writer_of(user), user);
}

struct marker_event_source marker_event_markers = {
	.ready = make_markers_ready,
	.visit = visit_markers,
	.find = offer_ready_marker,
	.connect = connect_markers,
	.disconnect = disconnect_markers,
};
