// SPDX-License-Identifier: GPL-2.0-only
/*
 * Event source for markers: each name is one trace event, which kmarkers_events creates.
 */
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/slab.h>

#include <kmarkers/event.h>
#include <kmarkers/marker.h>

#include "connect.h"
#include "events.h"
#include "ftrace.h"
#include "stubs.h"
#include "tables.h"

#define SYSTEM		"kmarkers"
#define PLACE_BYTES	160

/* True if this source has joined. It is set before any command can run, and read by commands. */
static bool joined;

struct marker_walk {
	kmarkers_event_visitor *visit;
	void *data;
};

static int offer_marker(void *data, const struct marker *marker, struct module *owner)
{
	const struct marker_walk *walk = data;
	char place[PLACE_BYTES];
	struct kmarkers_event_offer offer = {
		.system = SYSTEM, .name = marker->name, .format = marker->format,
		.place = place, .module = owner,
	};

	snprintf(place, sizeof(place), "%s()", marker->func);
	return walk->visit(walk->data, &offer);
}

static int visit_markers(struct module *module, kmarkers_event_visitor *visit, void *data)
{
	struct marker_walk walk = { visit, data };

	return marker_ready_visit(module, offer_marker, &walk);
}

static int find_marker(const struct kmarkers_event_offer *wanted, kmarkers_event_visitor *visit,
		       void *data)
{
	struct marker_walk walk = { visit, data };
	const struct marker *marker;
	struct module *owner;

	marker = marker_ready_find(wanted->name, wanted->format, &owner);
	return marker ? offer_marker(&walk, marker, owner) : 0;
}

static int connect_markers(const struct kmarkers_event_offer *event, void *user)
{
	return marker_probe_register(event->name, event->format, kmarkers_event_calls.probe, user);
}

static int disconnect_markers(const struct kmarkers_event_offer *event, void *user)
{
	return marker_probe_unregister(event->name, kmarkers_event_calls.probe, user);
}

/* Return an array of marker links made from event links, or NULL if there is no memory. */
static struct marker_link *make_links(const struct kmarkers_event_link *from, unsigned int nr)
{
	struct marker_link *links = kvcalloc(nr, sizeof(*links), GFP_KERNEL);
	unsigned int i;

	for (i = 0; links && i < nr; i++)
		links[i] = (struct marker_link) {
			.name = from[i].event.name, .format = from[i].event.format,
			.func = kmarkers_event_calls.probe, .private = from[i].user,
		};
	return links;
}

static int connect_many(const struct kmarkers_event_link *events, unsigned int nr)
{
	struct marker_link *links = make_links(events, nr);
	int err = links ? marker_connect_many(links, nr) : -ENOMEM;

	kvfree(links);
	return err;
}

static void disconnect_many(struct kmarkers_event_link *events, unsigned int nr)
{
	struct marker_link *links = make_links(events, nr);
	unsigned int i;

	if (links)
		marker_disconnect_many(links, nr);
	for (i = 0; i < nr; i++)
		events[i].err = links ? links[i].err :
				disconnect_markers(&events[i].event, events[i].user);
	kvfree(links);
}

static struct kmarkers_event_source source = {
	.ready = marker_tables_set_ready,
	.visit = visit_markers,
	.find = find_marker,
	.connect = connect_markers,
	.disconnect = disconnect_markers,
	.connect_many = connect_many,
	.disconnect_many = disconnect_many,
};

/* If @probe records an event, return a function that does so from registers, or NULL. */
static marker_typed_func *find_register_writer(const struct marker_probe *probe)
{
	if (probe->func != kmarkers_event_calls.probe)
		return NULL;
	return kmarkers_event_calls.find_register_writer(probe->private);
}

/**
 * marker_events_init() - offer markers as trace events
 *
 * If this kernel has no trace events for modules, markers work without them.
 */
void __init marker_events_init(void)
{
	marker_stub_register_probe = find_register_writer;
	joined = !kmarkers_event_calls.join(&source);
}

/* Unregister the source. No module with markers is loaded, and no command can run any more. */
void marker_events_exit(void)
{
	if (joined)
		kmarkers_event_calls.leave(&source);
}

/* Wait until events of modules that were loaded or unloaded before have been added or removed. */
void marker_events_flush(void)
{
	if (joined)
		kmarkers_event_calls.flush();
}

/**
 * marker_events_enable() - enable or disable the trace events of names in the main trace buffer
 * @names: the names, without duplicates
 * @nr: number of names
 * @on: true to enable them
 *
 * The sites of all names are switched in one batch.
 *
 * Context: may sleep.
 * Return: 0; or an error, in which case this call has enabled no event: -EOPNOTSUPP if this kernel
 * has no trace events for modules; -EINVAL if a name has no trace event, which is logged; -ENOMEM;
 * or an error of the trace core or of marker_connect_many().
 */
int marker_events_enable(const char *const *names, unsigned int nr, bool on)
{
	if (!joined)
		return on ? -EOPNOTSUPP : 0;
	kmarkers_event_calls.flush();
	return kmarkers_event_calls.enable(&source, SYSTEM, names, nr, on);
}

/* Return true if the trace event of a name is enabled in the main trace buffer. */
bool marker_event_is_enabled(const char *name)
{
	return joined && kmarkers_event_calls.is_enabled(SYSTEM, name);
}

/* Return the offer of a marker attached to a function; its strings are those of @function. */
static struct kmarkers_event_offer offer_of(const struct function_marker *function)
{
	return (struct kmarkers_event_offer) {
		.system = SYSTEM, .name = function->marker.name,
		.format = function->marker.format, .place = function->function,
		.module = function->owner,
	};
}

/**
 * marker_events_attach() - create the event of a marker attached to a function
 * @function: the function and its marker
 *
 * Context: may sleep.
 */
void marker_events_attach(struct function_marker *function)
{
	struct kmarkers_event_offer offer = offer_of(function);

	WRITE_ONCE(function->ready, true);
	if (joined)
		kmarkers_event_calls.offer(&source, &offer);
}

/**
 * marker_events_detach() - remove the event of a function's marker before the marker is detached
 * @function: the function and its marker
 *
 * Context: may sleep.
 * Return: 0; or -EBUSY if the event is enabled or referenced.
 */
int marker_events_detach(struct function_marker *function)
{
	struct kmarkers_event_offer offer = offer_of(function);
	int err;

	WRITE_ONCE(function->ready, false);
	err = joined ? kmarkers_event_calls.withdraw(&offer) : 0;
	if (err)
		WRITE_ONCE(function->ready, true);
	return err;
}
