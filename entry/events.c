// SPDX-License-Identifier: GPL-2.0-only
/*
 * Trace events of recorded functions (built with entry.mk): one for entries and one for exits. For
 * each module with recorded functions, this event source offers both events to kmarkers_events.
 *
 * A function with the action "event" is enabled only while its trace event is enabled. An enabled
 * event holds a reference to this module, because each hit runs code of this module.
 *
 * The module kmarkers_events creates the events, and need not be loaded before a command requests
 * an event.
 */
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <kmarkers/event.h>

#include "events.h"
#include "registry.h"
#include "switch.h"

#define SYSTEM	"kmarkers_function"
#define FORMAT	"function %ps caller %pS"

static const char *const names[ENTRY_KINDS] = { "entry", "exit" };

/* The functions of kmarkers_events; set once, by the first command that requests events. */
static const struct kmarkers_event_calls *calls;

/*
 * True once this module is being unloaded: from then on, this module offers no events. Guarded by
 * the registry's lock.
 */
static bool is_unloading;

/*
 * True if the module of a table is live, so that its events may be offered. If the module was live
 * before the event source was registered, @table->ready is not set, so check the state, too.
 */
static bool is_entry_module_live(const struct entry_table *table)
{
	return table->ready || READ_ONCE(table->sites.module->state) == MODULE_STATE_LIVE;
}

static bool mark_entry_module_ready(struct module *module)
{
	struct entry_table *table;
	bool found = false;

	mutex_lock(&entry_registry.lock);
	list_for_each_entry(table, &entry_registry.tables, node) {
		if (table->sites.module != module)
			continue;
		table->ready = true;
		found = true;
	}
	mutex_unlock(&entry_registry.lock);
	return found;
}

static bool is_entry_event_wanted(const struct kmarkers_event_offer *wanted, unsigned int kind)
{
	return !wanted || (!strcmp(wanted->system, SYSTEM) && !strcmp(wanted->name, names[kind]) &&
			   (!wanted->format || !strcmp(wanted->format, FORMAT)));
}

static int offer_table_events(const struct entry_table *table,
			      const struct kmarkers_event_offer *wanted,
			      kmarkers_event_visitor *visit, void *data)
{
	struct kmarkers_event_offer offer = {
		.system = SYSTEM, .format = FORMAT,
		.place = module_name(table->sites.module), .module = table->sites.module,
	};
	unsigned int kind;
	int err = 0;

	for (kind = 0; kind < ENTRY_KINDS && !err; kind++) {
		offer.name = names[kind];
		if (is_entry_event_wanted(wanted, kind))
			err = visit(data, &offer);
	}
	return err;
}

static int offer_matching_events(struct module *module, const struct kmarkers_event_offer *wanted,
				 kmarkers_event_visitor *visit, void *data)
{
	struct entry_table *table;
	int err = 0;

	mutex_lock(&entry_registry.lock);
	list_for_each_entry(table, &entry_registry.tables, node) {
		if (is_unloading || (module && table->sites.module != module) ||
		    !is_entry_module_live(table))
			continue;
		err = offer_table_events(table, wanted, visit, data);
		if (err)
			break;
	}
	mutex_unlock(&entry_registry.lock);
	return err;
}

static int visit_events_of_module(struct module *module, kmarkers_event_visitor *visit, void *data)
{
	return offer_matching_events(module, NULL, visit, data);
}

static int visit_wanted_event(const struct kmarkers_event_offer *wanted,
			      kmarkers_event_visitor *visit, void *data)
{
	return offer_matching_events(NULL, wanted, visit, data);
}

static struct list_head *find_event_users(const struct kmarkers_event_offer *event)
{
	return &entry_registry.users[!strcmp(event->name, names[ENTRY_KINDS - 1])];
}

static int add_entry_event_user(struct entry_user *user, struct list_head *users)
{
	int err;

	mutex_lock(&entry_registry.lock);
	list_add_rcu(&user->node, users);
	entry_mark_all_tables_changed();
	err = entry_enable_sites_with_actions();
	if (err)
		list_del_rcu(&user->node);
	mutex_unlock(&entry_registry.lock);
	return err;
}

static int connect_entry_event(const struct kmarkers_event_offer *event, void *event_user)
{
	struct entry_user *user;
	int err = -ENOMEM;

	if (!try_module_get(THIS_MODULE))
		return -ENODEV;
	user = kzalloc(sizeof(*user), GFP_KERNEL);
	if (user) {
		user->to = event_user;
		err = add_entry_event_user(user, find_event_users(event));
	}
	if (!err)
		return 0;
	if (user) {
		/* Wait for hits that may still use @event_user: the caller frees @event_user. */
		synchronize_rcu();
		kfree(user);
	}
	module_put(THIS_MODULE);
	return err;
}

/*
 * Stop recording an event for @event_user, a trace buffer or perf. Always return 0: even if a
 * kprobe keeps a function enabled, hits of this function are not recorded for @event_user any more.
 */
static int disconnect_entry_event(const struct kmarkers_event_offer *event, void *event_user)
{
	struct list_head *users = find_event_users(event);
	struct entry_user *user;
	bool found = false;

	mutex_lock(&entry_registry.lock);
	list_for_each_entry(user, users, node) {
		found = user->to == event_user;
		if (found)
			break;
	}
	if (found) {
		list_del_rcu(&user->node);
		entry_mark_all_tables_changed();
		entry_disable_sites_without_actions();
	}
	mutex_unlock(&entry_registry.lock);
	if (found) {
		kfree_rcu(user, rcu);
		module_put(THIS_MODULE);
	}
	return 0;
}

static struct kmarkers_event_source source = {
	.ready = mark_entry_module_ready,
	.visit = visit_events_of_module,
	.find = visit_wanted_event,
	.connect = connect_entry_event,
	.disconnect = disconnect_entry_event,
};

/**
 * entry_events_register() - register the trace events of entries and exits
 *
 * Context: may sleep; one call at a time.
 * Return: 0; -ENODEV if kmarkers_events is not loaded; -ENOENT if this kernel has no trace
 * events for modules; or an error of the update() of struct kmarkers_event_calls.
 */
int entry_events_register(void)
{
	const struct kmarkers_event_calls *found;
	int err;

	if (calls)
		return 0;
	found = kmarkers_events_get();
	if (!found) {
		pr_info("trace events of function entries and exits need the module kmarkers_events: load kmarkers_events first\n");
		return -ENODEV;
	}
	entry_registry.write = found->write;
	err = found->join(&source);
	if (err) {
		kmarkers_events_put();
		return err;
	}
	calls = found;
	return calls->update(&source);
}

/*
 * Unregister the event source. No command can run any more, and no event is enabled, since an
 * enabled event holds a reference to this module.
 */
void entry_events_exit(void)
{
	if (!calls)
		return;
	mutex_lock(&entry_registry.lock);
	is_unloading = true;
	mutex_unlock(&entry_registry.lock);
	/* This source offers no event any more, so update() removes all events of this source. */
	calls->update(&source);
	calls->leave(&source);
	kmarkers_events_put();
}
