/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Trace events that are created at run time, by event sources.
 *
 * OVERVIEW
 *
 * A *source* knows objects in modules that can be trace events: markers are one
 * source, SDT probes another.  It *offers* an event for each object: a system, a name
 * and a format.  All offers of one system and name are one event, which has the format
 * of the first, the fields that the format names, and for its owner a module that
 * offers it.  While the event is enabled, the source calls write() for each hit.
 *
 * The module kmarkers_events creates the events.  A source does not depend on that module
 * before it joins:
 *
 *	calls = kmarkers_events_get();
 *	err = calls->join(&source);
 *	...
 *	err = calls->update(&source);	when the offers of the source have changed
 *	...
 *	calls->leave(&source);
 *	kmarkers_events_put();
 *
 * CONTEXT
 *
 *	function		may sleep  irq	nmi
 *	write(), probe()	no	   yes	yes, with preemption off
 *	all others		yes	   no	no
 *
 * LOCKS
 *
 * Lock order: the kernel's event_mutex before the locks of a source.  The functions of a
 * source are called with event_mutex held, so a source must not hold a lock of its own when
 * it calls a function of kmarkers_events other than write() and probe().
 *
 * MODULES THAT LEAVE
 *
 * A source drops the objects of a module in a notifier of MODULE_STATE_GOING whose priority is
 * above KMARKERS_EVENTS_PRIORITY.  That of kmarkers_events then finds no offer of the module any
 * more, and hands its events over or removes them.
 */
#ifndef KMARKERS_EVENT_H
#define KMARKERS_EVENT_H

#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/types.h>

/* Above 1, that of the trace core, which removes events with their module. */
#define KMARKERS_EVENTS_PRIORITY	2

/**
 * struct kmarkers_event_offer - an event that a source offers for one of its objects
 * @system: the directory of the event in tracefs
 * @name: the event
 * @format: as that of a marker
 * @place: place of the object in the code, for the log
 * @module: the module that contains the object
 * @made: set to true if an event of this format exists now; or NULL
 *
 * The strings are valid only until the function that gets the offer returns.
 */
struct kmarkers_event_offer {
	const char *system;
	const char *name;
	const char *format;
	const char *place;
	struct module *module;
	bool *made;
};

typedef int kmarkers_event_visitor(void *data, const struct kmarkers_event_offer *offer);

/**
 * struct kmarkers_event_link - an event, and what records its hits
 * @event: system, name and format of the event
 * @user: passed to write() or probe()
 * @err: set by disconnect_many(): 0, or an error with the user still connected
 */
struct kmarkers_event_link {
	struct kmarkers_event_offer event;
	void *user;
	int err;
};

/**
 * struct kmarkers_event_source - an event source
 * @node: private
 * @ready: called when all subsystems have registered a module.  Return true if the source has
 *	objects in the module, and did not offer them before
 * @visit: call a function for each offer of one module that is ready, or for NULL of all such
 *	modules.  A return value other than 0 of the function ends the walk, and is returned
 * @find: call a function for one offer of that system, name and format; a NULL format matches
 *	any.  Return what the function returned, or 0 if there is no such offer
 * @connect: call write() or probe() for each hit from now on.  Return 0 or an error
 * @disconnect: stop calling it.  After an RCU grace period it is not called any more,
 *	unless an error is returned
 * @connect_many: as @connect for several events: all or none.  NULL for a source whose events are
 *	not switched by enable()
 * @disconnect_many: as @disconnect for several events; sets the error of each
 *
 * @connect and @disconnect get the system, name and format of the event, and what is to be
 * passed to write() or probe().
 */
struct kmarkers_event_source {
	struct list_head node;
	bool (*ready)(struct module *module);
	int (*visit)(struct module *module, kmarkers_event_visitor *visit, void *data);
	int (*find)(const struct kmarkers_event_offer *wanted, kmarkers_event_visitor *visit,
		    void *data);
	int (*connect)(const struct kmarkers_event_offer *event, void *user);
	int (*disconnect)(const struct kmarkers_event_offer *event, void *user);
	int (*connect_many)(const struct kmarkers_event_link *links, unsigned int nr);
	void (*disconnect_many)(struct kmarkers_event_link *links, unsigned int nr);
};

/**
 * struct kmarkers_event_calls - functions for event sources
 * @join: register a source, which may offer nothing yet.  Return 0; -ENOENT if this kernel
 *	has no trace events for modules
 * @leave: unregister a source, none of whose events is enabled.  An event with references
 *	stays, and cannot be enabled
 * @update: create and remove events so that they match the offers of a source.  Return 0; or,
 *	with all events unchanged, -EBUSY if an event that is no longer offered is enabled or has
 *	references
 * @offer: create the event of one more offer, if it has none.  A reason against it is logged
 * @withdraw: remove the event of an offer that is not made any more, or hand it over to another
 *	module.  Return 0, or -EBUSY if it is enabled or has references
 * @enable: enable or disable events of one system in the main trace buffer, as their files enable
 *	in tracefs do, with one connect_many() or disconnect_many().  Return 0; or, with none
 *	enabled by it, -EINVAL if one does not exist, which is logged, -ENOMEM, or an error of the
 *	trace core or of the source
 * @is_enabled: is an event enabled in the main trace buffer?
 * @flush: wait for the events of all modules that were loaded or unloaded before
 * @write: record a hit of an event; gets the user that connect() was given, and the arguments
 * @probe: record a hit of an event; gets the user that connect() was given, two values that it
 *	ignores, and the arguments.  It is the probe function of a marker
 * @find_register_writer: return the address of a function that records a hit of the event of a user
 *	and takes the user and the event's arguments as C passes them; or NULL if there is none: for
 *	more than five arguments, strings, arrays, or perf
 */
struct kmarkers_event_calls {
	int (*join)(struct kmarkers_event_source *source);
	void (*leave)(struct kmarkers_event_source *source);
	int (*update)(struct kmarkers_event_source *source);
	void (*offer)(struct kmarkers_event_source *source,
		      const struct kmarkers_event_offer *offer);
	int (*withdraw)(const struct kmarkers_event_offer *offer);
	int (*enable)(const char *system, const char *const *names, unsigned int nr, bool on);
	bool (*is_enabled)(const char *system, const char *name);
	void (*flush)(void);
	void (*write)(void *user, const unsigned long *args);
	void (*probe)(void *user, void *call_private, const char *format, va_list *args);
	void *(*find_register_writer)(const void *user);
};

extern const struct kmarkers_event_calls kmarkers_event_calls;

/**
 * kmarkers_events_get() - load kmarkers_events, if modprobe finds it, and keep it loaded
 *
 * Context: may sleep.
 * Return: its functions; NULL if it is not loaded.  kmarkers_events_put() releases it.
 */
#define kmarkers_events_get()	symbol_request(kmarkers_event_calls)
#define kmarkers_events_put()	symbol_put(kmarkers_event_calls)

#endif /* KMARKERS_EVENT_H */
