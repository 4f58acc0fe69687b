/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Trace events that event sources create at run time.
 *
 * OVERVIEW
 *
 * A *source* manages objects in modules that can be trace events: markers are one source, SDT
 * probes another.  A source *offers* an event for each object: a system, a name and a format.  All
 * offers with the same system and name make one event.  The event has the format of the first
 * offer, and a field for each argument that this format names.  The owner of an event is one of the
 * modules that offer the event.  A *user* of an event is a trace buffer that records the event, or
 * perf.  For each hit the source calls write() or probe() once for each user.
 *
 * The module kmarkers_events creates the events.  A source can load that module when it
 * first offers an event:
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
 *	retry()			no	   yes	no
 *	all others		yes	   no	no
 *
 * LOCKS
 *
 * Lock order: the kernel's event_mutex, then the locks of a source.  kmarkers_events calls
 * the functions of a source with event_mutex held, so a source must not hold a lock of its own when
 * it calls a function of kmarkers_events other than write(), probe() and retry().
 *
 * MODULES THAT ARE UNLOADED
 *
 * A source drops the objects of a module in a notifier of MODULE_STATE_GOING whose priority is
 * above KMARKERS_EVENTS_PRIORITY.  So when the notifier of kmarkers_events runs, the module offers
 * no event any more.  For each event that the module owns, this notifier finds a new owner, which
 * is another module that offers the event.  If no module offers the event, the notifier removes it.
 */
#ifndef KMARKERS_EVENT_H
#define KMARKERS_EVENT_H

#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/types.h>

/*
 * Priority of the module notifier of kmarkers_events.  It must be above 1, the priority of the
 * trace core's module notifier, which removes a module's events.
 */
#define KMARKERS_EVENTS_PRIORITY	2

/**
 * struct kmarkers_event_offer - a trace event that a source offers for one of its objects
 * @system: system of the event: the name of its parent directory in tracefs
 * @name: name of the event
 * @format: format of the event's fields, as for the arguments of a marker
 * @place: where the object is in the code, for the log: a function, a site or a module
 * @module: the module that contains the object
 * @event_exists: if not NULL, set to true if the event exists, or is created, with this format
 *
 * The strings are valid only until the function that gets the offer returns.
 */
struct kmarkers_event_offer {
	const char *system;
	const char *name;
	const char *format;
	const char *place;
	struct module *module;
	bool *event_exists;
};

typedef int kmarkers_event_visitor(void *data, const struct kmarkers_event_offer *offer);

/**
 * struct kmarkers_event_link - an event, and a user (a trace buffer or perf) that records its hits
 * @event: system, name and format of the event
 * @user: passed to write() or probe()
 * @err: set by disconnect_many(): 0; or an error, in which case the user is still connected
 */
struct kmarkers_event_link {
	struct kmarkers_event_offer event;
	void *user;
	int err;
};

/**
 * struct kmarkers_event_source - an event source
 * @node: link in the list of sources; private to kmarkers_events
 * @ready: called when a module is live and the module notifiers of all other subsystems have
 *	run.  Return true if the source has objects in the module, and offer events for these
 *	objects from now on
 * @visit: call a function for each offer of a ready module or, if the module is NULL, for each
 *	offer of all ready modules.  If the function returns a value other than 0, stop and
 *	return this value
 * @find: call a function for one offer that has the wanted system, name and format; a wanted
 *	format of NULL matches any format.  Return the function's return value, or 0 if no offer
 *	matches
 * @connect: from now on, call write() or probe() for each hit.  Return 0 or an error
 * @disconnect: stop calling write() or probe().  Return 0, or an error, in which case the calls
 *	continue.  After 0 was returned and an RCU grace period has passed, no call is in progress
 * @connect_many: connect several events, either all or none.  NULL for a source whose events are
 *	not switched by enable()
 * @disconnect_many: disconnect several events; set @err of each link
 *
 * @connect and @disconnect get the system, name and format of the event, and the user that they
 * pass to write() or probe().
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
 * @join: register a source, without creating events: a source that has offers already must call
 *	update() afterwards.  Return 0; or -ENOENT if this kernel has no trace events for modules
 * @leave: unregister a source, and remove its events.  An enabled or referenced event is removed
 *	later, once it is disabled and unreferenced.  Until then it records no hits, unless a
 *	source offers the event again
 * @update: create the events that a source offers, and remove the events that it no longer offers.
 *	Return 0; or, if an event to be removed is enabled or referenced, -EBUSY, in which case no
 *	event is changed
 * @offer: add one more offer: create the event of the offer unless the event exists.  If the event
 *	cannot be created, the reason is logged
 * @withdraw: remove the event of an offer that the source no longer makes, or make another module
 *	that offers the event its owner.  Return 0, or -EBUSY if the event is enabled or referenced
 * @enable: enable or disable events of a source, all of one system, in the main trace buffer.  This
 *	has the same effect as writing to the file "enable" of each event in tracefs, but with one
 *	connect_many() or disconnect_many().  Return 0; or an error, in which case the call has
 *	enabled no event: -EINVAL if an event does not exist, which is logged; -ENOMEM; or an error
 *	of the trace core or of the source
 * @is_enabled: return true if an event is enabled in the main trace buffer
 * @flush: wait until the events of all modules that were loaded or unloaded before the call have
 *	been created or removed
 * @retry: try soon to connect all users again that @connect of a source has refused with -EPERM or
 *	-EINVAL; called when a reason of a refusal is gone
 * @write: record a hit of an event; gets the user that connect() was given, and the hit's arguments
 * @probe: record a hit of an event, as the probe function of a marker; gets the user that connect()
 *	was given, two ignored values, and the hit's arguments
 * @find_register_writer: return the address of a C function that records a hit for a user; its
 *	parameters are the user and the arguments of the event.  Return NULL for perf, for an
 *	event with more than five arguments, and for an event with a string or an array
 */
struct kmarkers_event_calls {
	int (*join)(struct kmarkers_event_source *source);
	void (*leave)(struct kmarkers_event_source *source);
	int (*update)(struct kmarkers_event_source *source);
	void (*offer)(struct kmarkers_event_source *source,
		      const struct kmarkers_event_offer *offer);
	int (*withdraw)(const struct kmarkers_event_offer *offer);
	int (*enable)(struct kmarkers_event_source *source, const char *system,
		      const char *const *names, unsigned int nr, bool on);
	bool (*is_enabled)(const char *system, const char *name);
	void (*flush)(void);
	void (*retry)(void);
	void (*write)(void *user, const unsigned long *args);
	void (*probe)(void *user, void *call_private, const char *format, va_list *args);
	void *(*find_register_writer)(const void *user);
};

extern const struct kmarkers_event_calls kmarkers_event_calls;

/**
 * kmarkers_events_get() - load kmarkers_events, if modprobe finds it, and keep it loaded
 *
 * The module stays loaded until kmarkers_events_put().
 *
 * Context: may sleep.
 * Return: the functions of kmarkers_events; NULL if the module cannot be loaded.
 */
#define kmarkers_events_get()	symbol_request(kmarkers_event_calls)

/**
 * kmarkers_events_put() - release kmarkers_events, so that the module can be unloaded
 *
 * Called once for each successful kmarkers_events_get(), after the source has called leave().
 *
 * Context: any.
 */
#define kmarkers_events_put()	symbol_put(kmarkers_event_calls)

#endif /* KMARKERS_EVENT_H */
