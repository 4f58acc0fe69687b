/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Trace events of what is not known when kmarkers is built.
 *
 * OVERVIEW
 *
 * A *source* knows things of modules that can be trace events: the markers are one
 * source, SDT probes another.  It *offers* an event for each of them: a system, a name
 * and a format.  All offers of one system and name are one event, which has the format
 * of the first, the fields that the format names, and for its owner a module that
 * offers it.  While somebody has the event on, the source calls marker_event_write()
 * for each hit.
 *
 * The machinery is in kmarkers_markers.  A module that can work without it gets it with
 * symbol_get(marker_event_calls), and gives it back with symbol_put():
 *
 *	calls = symbol_get(marker_event_calls);
 *	err = calls->join(&source);
 *	...
 *	err = calls->update(&source);	when the source offers other things than before
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
 * All that a source has to define is called with the kernel's event_mutex held, so a
 * source takes its own locks after that one, and calls none of join(), update() and
 * leave() with a lock of its own.
 */
#ifndef KMARKERS_EVENT_H
#define KMARKERS_EVENT_H

#include <linux/list.h>
#include <linux/types.h>

struct module;

/**
 * struct marker_event_offer - what a source says of a thing that can be an event
 * @system: the directory of the event in tracefs
 * @name: the event
 * @format: as that of a marker
 * @place: for the log, where it is
 * @module: the module that has it
 * @made: set if there is an event of this format now; or NULL
 *
 * Strings live as long as the call that an offer is passed to.
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
 * struct marker_event_source - what offers events
 * @node: private
 * @ready: a module has been taken over by everybody, or it leaves: then nothing of it is
 *	offered any more.  Return whether that was not known
 * @visit: call a function for each offer of a module that is ready, or with NULL of all;
 *	a value other than 0 that it returns ends the walk, and is returned
 * @find: call a function for one offer of that system, name and format, or with NULL of any
 *	format.  Return what it returned, or 0 if there is no such offer
 * @connect: call write() for each hit from now on.  Return 0 or an error
 * @disconnect: do that no more.  When a grace period of RCU has passed it is not called
 *	any more, or an error is returned
 *
 * @connect and @disconnect get the system, name and format of the event, and what is to be
 * passed to write().
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
 * struct marker_event_calls - what a source calls
 * @join: register a source, which may offer nothing yet.  Return 0; -ENOENT if this kernel
 *	has no trace events for modules
 * @leave: forget a source, of which nothing is on.  An event to which somebody has a reference
 *	stays, and cannot be switched on
 * @update: bring events in line with what a source offers.  On return they are as it is
 *	offered.  Return 0; or -EBUSY if somebody has an event on that is no longer offered, or a
 *	reference to it: then all are as before
 * @write: a hit of an event: the user that connect() was given, and the arguments
 */
struct marker_event_calls {
	int (*join)(struct marker_event_source *source);
	void (*leave)(struct marker_event_source *source);
	int (*update)(struct marker_event_source *source);
	void (*write)(void *user, const unsigned long *args);
};

extern const struct marker_event_calls marker_event_calls;

#endif /* KMARKERS_EVENT_H */
