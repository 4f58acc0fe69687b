/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Trace events that event sources create at run time.
 *
 * OVERVIEW
 *
 * An event *source* is a subsystem with objects in modules that can be trace events:
 * markers are one source, SDT probes another.  It *offers* an event for each object: a
 * system, a name and a format.  All offers with the same system and name become one event,
 * which has the format of the first offer, the fields that the format describes, and one of
 * the offering modules as its owner.  While the event is enabled, the source calls
 * marker_event_calls.write() for each hit.
 *
 * The implementation is in kmarkers_markers.  A module that can also work without it gets a
 * reference with symbol_get(marker_event_calls), and drops it with symbol_put():
 *
 *	calls = symbol_get(marker_event_calls);
 *	err = calls->join(&source);
 *	...
 *	err = calls->update(&source);	when the offers of the source have changed
 *	...
 *	calls->leave(&source);
 *	symbol_put(marker_event_calls);
 *
 * CONTEXT
 *
 *	function		may sleep  irq	nmi
 *	write()			no	   yes	yes, with preemption off
 *	all others		yes	   no	no
 *
 * LOCKS
 *
 * Lock order: the kernel's event_mutex before the locks of a source.  The functions of a
 * source are called with event_mutex held, so a source must not hold a lock of its own when
 * it calls join(), update() or leave().
 */
#ifndef KMARKERS_EVENT_H
#define KMARKERS_EVENT_H

#include <linux/list.h>
#include <linux/types.h>

struct module;

/**
 * struct marker_event_offer - an event that a source offers for one of its objects
 * @system: the directory of the event in tracefs
 * @name: name of the event
 * @format: format of its fields, as that of a marker
 * @place: source location of the object, for the log
 * @module: the module that contains the object
 * @made: pointer to a flag that is set to true if an event of this format exists now; or NULL
 *
 * The strings are valid only until the function that gets the offer returns.
 */
struct marker_event_offer {
	const char *system;
	const char *name;
	const char *format;
	const char *place;
	struct module *module;
	bool *made;
};

typedef int marker_event_visitor(void *data, const struct marker_event_offer *offer);

/**
 * struct marker_event_source - an event source
 * @node: private
 * @ready: called with @on true when all subsystems have registered a module, and with false
 *	when the module is unloaded, after which its events are not offered.  Return true if the
 *	module was not ready before and is ready now
 * @visit: call a function for each offer of a module that is ready or, if @module is NULL, of
 *	all such modules.  If the function returns other than 0, stop and return that value
 * @find: call a function for one offer of that system, name and format; a NULL format matches
 *	any.  Return what the function returned, or 0 if there is no such offer
 * @connect: call write() for each hit from now on.  Return 0 or an error
 * @disconnect: stop calling write().  After an RCU grace period it is not called any more,
 *	unless an error is returned
 *
 * @connect and @disconnect get the system, name and format of the event, and the pointer to
 * pass to write() as its user.
 */
struct marker_event_source {
	struct list_head node;
	bool (*ready)(struct module *module, bool on);
	int (*visit)(struct module *module, marker_event_visitor *visit, void *data);
	int (*find)(const struct marker_event_offer *wanted, marker_event_visitor *visit,
		    void *data);
	int (*connect)(const struct marker_event_offer *event, void *user);
	int (*disconnect)(const struct marker_event_offer *event, void *user);
};

/**
 * struct marker_event_calls - functions for event sources
 * @join: register a source, which may offer nothing yet.  Return 0; -ENOENT if this kernel
 *	has no trace events for modules
 * @leave: unregister a source, none of whose events is enabled.  An event with references
 *	stays, and cannot be enabled
 * @update: create and remove events so that they match the offers of a source.  Return 0; or,
 *	with all events unchanged, -EBUSY if an event that is no longer offered is enabled or has
 *	references
 * @write: record a hit of an event; gets the user pointer that was passed to connect(), and the
 *	arguments of the hit
 */
struct marker_event_calls {
	int (*join)(struct marker_event_source *source);
	void (*leave)(struct marker_event_source *source);
	int (*update)(struct marker_event_source *source);
	void (*write)(void *user, const unsigned long *args);
};

extern const struct marker_event_calls marker_event_calls;

#endif /* KMARKERS_EVENT_H */
