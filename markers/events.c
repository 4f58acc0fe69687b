// SPDX-License-Identifier: GPL-2.0-only
/*
 * Event source for markers: for each marker name, kmarkers_events creates one trace event.
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
#include "names.h"
#include "stubs.h"
#include "tables.h"

#define SYSTEM		"kmarkers"
#define PLACE_BYTES	160

/* True while the event source of markers is registered; set before any command can run. */
static bool joined;

struct marker_walk {
	kmarkers_event_visitor *visit;
	void *data;
};

static int offer_marker_event(void *data, const struct marker *marker, struct module *owner)
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

static int visit_ready_markers(struct module *module, kmarkers_event_visitor *visit, void *data)
{
	struct marker_walk walk = { visit, data };

	return marker_tables_visit_ready(module, offer_marker_event, &walk);
}

/*
 * Call @visit for the first marker that has the name and the format of @offer and may have a trace
 * event.
 */
static int visit_marker_of_offer(const struct kmarkers_event_offer *offer,
				 kmarkers_event_visitor *visit, void *data)
{
	struct marker_walk walk = { visit, data };

	return marker_tables_visit_first_ready(offer->name, offer->format, offer_marker_event,
					       &walk);
}

static int connect_event_probe(const struct kmarkers_event_offer *event, void *user)
{
	return marker_probe_register(event->name, event->format, kmarkers_event_calls.probe, user);
}

static int disconnect_event_probe(const struct kmarkers_event_offer *event, void *user)
{
	return marker_probe_unregister(event->name, kmarkers_event_calls.probe, user);
}

/* Convert event links to an array of marker links.  Return NULL if there is no memory. */
static struct marker_link *make_marker_links(const struct kmarkers_event_link *from,
					     unsigned int nr)
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

static int connect_event_probes(const struct kmarkers_event_link *events, unsigned int nr)
{
	struct marker_link *links = make_marker_links(events, nr);
	int err = links ? marker_connect_probes(links, nr) : -ENOMEM;

	kvfree(links);
	return err;
}

static void disconnect_event_probes(struct kmarkers_event_link *events, unsigned int nr)
{
	struct marker_link *links = make_marker_links(events, nr);
	unsigned int i;

	if (links)
		marker_disconnect_probes(links, nr);
	for (i = 0; i < nr; i++)
		events[i].err = links ? links[i].err :
				disconnect_event_probe(&events[i].event, events[i].user);
	kvfree(links);
}

static struct kmarkers_event_source source = {
	.ready = marker_tables_set_ready,
	.visit = visit_ready_markers,
	.find = visit_marker_of_offer,
	.connect = connect_event_probe,
	.disconnect = disconnect_event_probe,
	.connect_many = connect_event_probes,
	.disconnect_many = disconnect_event_probes,
};

/*
 * Return the function that records the trace event of @probe from arguments in CPU registers.
 * Return NULL if there is no such function for the event, or if @probe records no event.
 */
static marker_typed_func *get_reg_args_probe_of_event(const struct marker_probe *probe)
{
	if (probe->func != kmarkers_event_calls.probe)
		return NULL;
	return kmarkers_event_calls.find_register_writer(probe->private);
}

/**
 * marker_events_init() - offer markers as trace events
 *
 * If this kernel has no trace events for modules, markers work without trace events.
 */
void __init marker_events_init(void)
{
	marker_stub_find_reg_args_probe = get_reg_args_probe_of_event;
	joined = !kmarkers_event_calls.join(&source);
	if (joined)
		marker_name_retry_refused = kmarkers_event_calls.retry;
}

/*
 * Unregister the event source of markers.  No module with markers is loaded now, and no command
 * can run.
 */
void marker_events_exit(void)
{
	if (joined)
		kmarkers_event_calls.leave(&source);
}

/*
 * Wait until the trace events of all modules that were loaded so far are added, and the trace
 * events of all modules that were unloaded so far are removed.
 */
void marker_events_flush(void)
{
	if (joined)
		kmarkers_event_calls.flush();
}

/**
 * marker_switch_trace_events() - enable or disable trace events in the main trace buffer
 * @names: the names, without duplicates
 * @nr: number of names
 * @on: true to enable the events, false to disable them
 *
 * The sites (patched instructions) of all names are switched in one batch.
 *
 * Context: may sleep.
 * Return: 0; or an error, in which case this call has enabled no event: -EOPNOTSUPP if this kernel
 * has no trace events for modules; -EINVAL if a name has no trace event, which is logged; -ENOMEM;
 * or an error of the trace core or of marker_connect_probes().
 */
int marker_switch_trace_events(const char *const *names, unsigned int nr, bool on)
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

/*
 * Return an offer for the trace event of a marker attached to a function.  The offer points into
 * @function.
 */
static struct kmarkers_event_offer make_event_offer(const struct function_marker *function)
{
	return (struct kmarkers_event_offer) {
		.system = SYSTEM, .name = function->marker.name,
		.format = function->marker.format, .place = function->function,
		.module = function->owner,
	};
}

/**
 * marker_events_add_function() - create the trace event of a marker attached to a function
 * @function: the function and its marker
 *
 * Context: may sleep.
 */
void marker_events_add_function(struct function_marker *function)
{
	struct kmarkers_event_offer offer = make_event_offer(function);

	WRITE_ONCE(function->ready, true);
	if (joined)
		kmarkers_event_calls.offer(&source, &offer);
}

/**
 * marker_events_remove_function() - remove the trace event of a marker attached to a function
 * @function: the function and its marker
 *
 * Context: may sleep.
 * Return: 0; or -EBUSY if the event is enabled or referenced.
 */
int marker_events_remove_function(struct function_marker *function)
{
	struct kmarkers_event_offer offer = make_event_offer(function);
	int err;

	WRITE_ONCE(function->ready, false);
	err = joined ? kmarkers_event_calls.withdraw(&offer) : 0;
	if (err)
		WRITE_ONCE(function->ready, true);
	return err;
}
