// SPDX-License-Identifier: GPL-2.0-only
/*
 * Trace events of SDT probes.  This event source offers an event to kmarkers_events for each probe
 * that a command has requested.
 *
 * The event of a probe is in the system sdt_PROVIDER, and is named PROBE, or FUNCTION_PROBE if the
 * probe's definition names a function.  While the event is enabled, all sites whose probe has this
 * provider, event name and fields are armed, including sites of modules loaded later.
 *
 * The module kmarkers_events creates the events, and need not be loaded before a command requests
 * an event.
 */
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <kmarkers/event.h>
#include <kmarkers/sdt.h>

#include "attach.h"
#include "events.h"
#include "pattern.h"
#include "registry.h"
#include "types.h"

#define SYSTEM		"sdt_"
#define SYSTEM_BYTES	128

/**
 * struct request - a pattern of probes that a command requested as trace events
 * @node: link in the list of all requests
 * @pattern: pattern of the sites whose probes are requested
 */
struct request {
	struct list_head node;
	struct sdt_pattern pattern;
};

/* All requests. Only commands, one at a time, change this list, with the registry's lock held. */
static LIST_HEAD(requests);

/*
 * The request of the current command. @matched is true if the request matches at least one site.
 * @event_exists is true if a trace event exists for the probe of at least one matching site.
 * Guarded by the registry's lock.
 */
static struct {
	const struct request *request;
	bool matched, event_exists;
} current_request;

/* The functions of kmarkers_events; set once, by the first command that requests an event. */
static const struct kmarkers_event_calls *calls;

/* True if the trace event of site @i of a table is requested. */
static bool is_event_requested(const struct sdt_table *table, unsigned int i)
{
	struct request *request;

	list_for_each_entry(request, &requests, node)
		if (sdt_pattern_matches_site(&request->pattern, table, i))
			return true;
	return false;
}

/*
 * True if the module of a table is live; events of other modules must not be offered.  The module's
 * state is checked, too, because @table->ready stays false for a module that became live before the
 * event source was registered.
 */
static bool is_sdt_module_live(const struct sdt_table *table)
{
	return table->ready || READ_ONCE(table->sites.module->state) == MODULE_STATE_LIVE;
}

static bool mark_sdt_module_ready(struct module *module)
{
	struct sdt_table *table;
	bool found = false;

	mutex_lock(&sdt_registry.lock);
	list_for_each_entry(table, &sdt_registry.tables, node) {
		if (table->sites.module != module)
			continue;
		table->ready = true;
		found = true;
	}
	mutex_unlock(&sdt_registry.lock);
	return found;
}

/* True if the current command requests the trace event of site @i. */
static bool is_site_of_current_request(const struct sdt_table *table, unsigned int i)
{
	const struct request *request = current_request.request;

	return request && sdt_pattern_matches_site(&request->pattern, table, i);
}

static int offer_site_event(const struct sdt_table *table, const struct patcher_site *site,
			    bool for_current_request, kmarkers_event_visitor *visit, void *data)
{
	const struct sdt_probe *probe = sdt_get_probe(site);
	char system[SYSTEM_BYTES], format[SDT_FORMAT], name[SDT_MAX_EVENT], place[SDT_MAX_NAME];
	struct kmarkers_event_offer offer = {
		.system = system, .name = name, .format = format, .place = place,
		.module = table->sites.module,
		.event_exists = for_current_request ? &current_request.event_exists : NULL,
	};

	snprintf(system, sizeof(system), SYSTEM "%s", probe->provider->name);
	sdt_make_event_name(name, probe);
	sdt_make_probe_name(place, table, probe);
	sdt_make_event_format(format, probe);
	return visit(data, &offer);
}

/*
 * True if the site's probe has the provider, name and format of an event. If the format of the
 * event is NULL, the probe may have any format.
 */
static bool is_site_of_event(const struct patcher_site *site,
			     const struct kmarkers_event_offer *event)
{
	const struct sdt_probe *probe = sdt_get_probe(site);
	char format[SDT_FORMAT], name[SDT_MAX_EVENT];

	sdt_make_event_name(name, probe);
	if (strcmp(name, event->name) ||
	    strcmp(probe->provider->name, event->system + strlen(SYSTEM)))
		return false;
	if (!event->format)
		return true;
	sdt_make_event_format(format, probe);
	return !strcmp(format, event->format);
}

static int visit_table_probes(const struct sdt_table *table,
			      const struct kmarkers_event_offer *event,
			      kmarkers_event_visitor *visit, void *data)
{
	const struct sdt_probe *offered = NULL;
	unsigned int i;
	int err = 0;

	for (i = 0; i < table->sites.nr && !err; i++) {
		const struct patcher_site *site = sdt_get_site(table, i);
		bool is_new = !current_request.event_exists && is_site_of_current_request(table, i);

		current_request.matched |= is_new;
		/* Consecutive sites often have the same probe: offer this probe only once. */
		if (sdt_get_probe(site) == offered && !is_new)
			continue;
		if ((!event || is_site_of_event(site, event)) && is_event_requested(table, i)) {
			offered = sdt_get_probe(site);
			err = offer_site_event(table, site, is_new, visit, data);
		}
	}
	return err;
}

static int visit_sdt_tables(struct module *module, const struct kmarkers_event_offer *event,
			    kmarkers_event_visitor *visit, void *data)
{
	struct sdt_table *table;
	int err = 0;

	mutex_lock(&sdt_registry.lock);
	list_for_each_entry(table, &sdt_registry.tables, node) {
		if ((module && table->sites.module != module) || !is_sdt_module_live(table))
			continue;
		err = visit_table_probes(table, event, visit, data);
		if (err)
			break;
	}
	mutex_unlock(&sdt_registry.lock);
	return err;
}

static int visit_probes_of_module(struct module *module, kmarkers_event_visitor *visit, void *data)
{
	return visit_sdt_tables(module, NULL, visit, data);
}

static int visit_probes_of_event(const struct kmarkers_event_offer *event,
				 kmarkers_event_visitor *visit, void *data)
{
	return visit_sdt_tables(NULL, event, visit, data);
}

/*
 * Handler of an enabled event: write a record of the hit to the trace. Arguments that the site does
 * not pass are recorded as zeros. Handlers are called with the preemption depth raised by one, and
 * a record holds the depth minus one, which is the depth at the site.
 */
static void write_event_record(void *user, const struct sdt_hit *hit)
{
	unsigned long args[1 + SDT_MAX_ARGS];
	unsigned int i;

	args[0] = sdt_hit_ip(hit);
	for (i = 0; i < SDT_MAX_ARGS; i++)
		args[1 + i] = i < hit->nr ? hit->args[i] : 0;
	calls->write(user, args);
}

static void make_provider_pattern(char *text, const struct kmarkers_event_offer *event)
{
	snprintf(text, PATCHER_PATTERN_BYTES, "%s:::", event->system + strlen(SYSTEM));
}

/* Attach write_event_record() to all sites whose probe has this event. */
static int connect_sdt_event(const struct kmarkers_event_offer *event, void *user)
{
	char text[PATCHER_PATTERN_BYTES];

	make_provider_pattern(text, event);
	return sdt_attach_event_handler(text, event->name, event->format, write_event_record, user);
}

/* Detach write_event_record(). Ignore errors: sites that stay enabled do not call the handler. */
static int disconnect_sdt_event(const struct kmarkers_event_offer *event, void *user)
{
	char text[PATCHER_PATTERN_BYTES];

	make_provider_pattern(text, event);
	sdt_detach(text, write_event_record, user);
	return 0;
}

static struct kmarkers_event_source source = {
	.ready = mark_sdt_module_ready,
	.visit = visit_probes_of_module,
	.find = visit_probes_of_event,
	.connect = connect_sdt_event,
	.disconnect = disconnect_sdt_event,
};

/* Get the functions of kmarkers_events, which must be loaded, and register the event source. */
static int register_sdt_event_source(void)
{
	const struct kmarkers_event_calls *found;
	int err;

	if (calls)
		return 0;
	found = kmarkers_events_get();
	if (!found) {
		pr_info("trace events of SDT probes need kmarkers_events: load kmarkers_events first\n");
		return -ENODEV;
	}
	err = found->join(&source);
	if (err)
		kmarkers_events_put();
	else
		calls = found;
	return err;
}

static struct request *find_event_request(const char *pattern)
{
	struct request *request;

	list_for_each_entry(request, &requests, node)
		if (!strcmp(request->pattern.names.text, pattern))
			return request;
	return NULL;
}

static void update_event_request_list(struct request *request, bool add)
{
	mutex_lock(&sdt_registry.lock);
	if (add)
		list_add_tail(&request->node, &requests);
	else
		list_del(&request->node);
	mutex_unlock(&sdt_registry.lock);
}

static void set_current_event_request(const struct request *request)
{
	mutex_lock(&sdt_registry.lock);
	current_request.request = request;
	current_request.matched = false;
	current_request.event_exists = false;
	mutex_unlock(&sdt_registry.lock);
}

static int remove_event_request(const char *pattern)
{
	struct request *request = find_event_request(pattern);
	int err;

	if (!request)
		return -ENOENT;
	update_event_request_list(request, false);
	err = calls->update(&source);
	if (!err) {
		kfree(request);
		return 0;
	}
	/*
	 * update() has failed: restore the request, and offer the probes of modules that were
	 * loaded meanwhile.
	 */
	update_event_request_list(request, true);
	calls->update(&source);
	return err;
}

static int add_event_request(const char *pattern)
{
	struct request *request;
	bool no_event;
	int err;

	if (find_event_request(pattern))
		return -EBUSY;
	request = kzalloc(sizeof(*request), GFP_KERNEL);
	if (!request)
		return -ENOMEM;
	err = sdt_pattern_parse(&request->pattern, pattern) ?: register_sdt_event_source();
	if (err) {
		kfree(request);
		return err;
	}
	update_event_request_list(request, true);
	set_current_event_request(request);
	err = calls->update(&source);
	no_event = current_request.matched && !current_request.event_exists;
	if (!err && !current_request.matched)
		pr_info("pattern %s: matches no site yet; applies to modules loaded later\n",
			pattern);
	set_current_event_request(NULL);
	if (err || !no_event)
		return err;
	remove_event_request(pattern);
	return -EOPNOTSUPP;
}

/* Show a line for each request: the pattern, "event", and the number of matching sites. */
int sdt_show_event_requests(struct seq_file *m)
{
	const struct request *request;

	mutex_lock(&sdt_registry.lock);
	list_for_each_entry(request, &requests, node)
		seq_printf(m, "%s event %u\n", request->pattern.names.text,
			   sdt_count_matching_sites(&request->pattern, UINT_MAX));
	mutex_unlock(&sdt_registry.lock);
	return 0;
}

/**
 * sdt_add_or_remove_events() - add or remove the trace events of probes
 * @pattern: pattern of sites: the probes of all matching sites get or lose trace events, and so do
 *	the probes of matching sites in modules that are loaded later
 * @on: true to add the events, false to remove them
 *
 * Context: may sleep; one call at a time.
 * Return: 0; -EINVAL if @pattern is not valid; -EOPNOTSUPP if no matching probe can have a trace
 * event, with the reason in the log; -EBUSY if @pattern was requested already, or if an event to be
 * removed is enabled or has references; -ENOENT if @pattern is to be removed but was not requested,
 * or if this kernel has no trace events for modules; -ENODEV if kmarkers_events is not loaded;
 * -ENOMEM. With an error nothing is changed.
 */
int sdt_add_or_remove_events(const char *pattern, bool on)
{
	return on ? add_event_request(pattern) : remove_event_request(pattern);
}

/*
 * Free all requests, and unregister the event source. No module with probes is loaded any more, and
 * no command can run.
 */
void sdt_events_exit(void)
{
	struct request *request, *next;

	list_for_each_entry_safe(request, next, &requests, node) {
		update_event_request_list(request, false);
		kfree(request);
	}
	if (!calls)
		return;
	calls->leave(&source);
	kmarkers_events_put();
}
