// SPDX-License-Identifier: GPL-2.0-only
/*
 * Trace events of SDT probes: an event source that offers the probes that were requested.
 *
 * The event of a probe has its provider's name behind "sdt_" for its system.  Its name is that of
 * the probe, behind the function of the definition if that gives one.  All sites whose probe has
 * that provider, event and fields are armed while it is on, also those that come later.
 *
 * What makes events is in kmarkers_markers, which we do without until the first event
 * is asked for.
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
 * struct request - a pattern of probes that are to be events
 * @node: in the list of all
 * @pattern: the sites whose probes are to be events
 * @text: the same as it was given
 */
struct request {
	struct list_head node;
	struct sdt_pattern pattern;
	char text[SDT_MAX_PATTERN];
};

/* Guarded by the registry's lock; changed by commands, of which there is one at a time. */
static LIST_HEAD(requests);

/*
 * The request of the current command, whether it matches a site, and whether the probe of a
 * matching site is an event now. Guarded by the registry's lock.
 */
static struct {
	const struct request *request;
	bool matched, made;
} current_request;

/* Set once, by the first command. */
static const struct marker_event_calls *calls;

static bool is_asked_for(const struct sdt_table *table, unsigned int i)
{
	struct request *request;

	list_for_each_entry(request, &requests, node)
		if (sdt_pattern_matches(&request->pattern, table, i))
			return true;
	return false;
}

/* When the event source is registered, the modules already loaded are those that are live. */
static bool sdt_table_is_live(const struct sdt_table *table)
{
	return table->ready || READ_ONCE(table->sites.module->state) == MODULE_STATE_LIVE;
}

static bool make_sdt_events_ready(struct module *module, bool on)
{
	struct sdt_table *table;
	bool news = false;

	mutex_lock(&sdt_registry.lock);
	list_for_each_entry(table, &sdt_registry.tables, node) {
		if (table->sites.module != module || table->ready == on)
			continue;
		table->ready = on;
		news = true;
	}
	mutex_unlock(&sdt_registry.lock);
	return news;
}

/* Does the current command request this site's probe? */
static bool is_newly_asked_for(const struct sdt_table *table, unsigned int i)
{
	const struct request *request = current_request.request;

	return request && sdt_pattern_matches(&request->pattern, table, i);
}

static int offer_site(const struct sdt_table *table, const struct patcher_site *site,
		      bool is_new, marker_event_visitor *visit, void *data)
{
	const struct sdt_probe *probe = sdt_probe_of(site);
	char system[SYSTEM_BYTES], format[SDT_FORMAT], name[SDT_MAX_EVENT], place[SDT_MAX_NAME];
	struct marker_event_offer offer = {
		.system = system, .name = name, .format = format, .place = place,
		.module = table->sites.module, .made = is_new ? &current_request.made : NULL,
	};

	snprintf(system, sizeof(system), SYSTEM "%s", probe->provider->name);
	sdt_name_event(name, probe);
	sdt_name_probe(place, table, probe);
	sdt_types_format(format, probe);
	return visit(data, &offer);
}

/* Is the site's probe the one of an event, or of any format if it has none? */
static bool is_of(const struct patcher_site *site, const struct marker_event_offer *event)
{
	const struct sdt_probe *probe = sdt_probe_of(site);
	char format[SDT_FORMAT], name[SDT_MAX_EVENT];

	sdt_name_event(name, probe);
	if (strcmp(name, event->name) ||
	    strcmp(probe->provider->name, event->system + strlen(SYSTEM)))
		return false;
	if (!event->format)
		return true;
	sdt_types_format(format, probe);
	return !strcmp(format, event->format);
}

static int visit_table(const struct sdt_table *table, const struct marker_event_offer *only,
		       marker_event_visitor *visit, void *data)
{
	const struct sdt_probe *offered = NULL;
	unsigned int i;
	int err = 0;

	for (i = 0; i < table->sites.nr && !err; i++) {
		const struct patcher_site *site = sdt_site(table, i);
		bool is_new = !current_request.made && is_newly_asked_for(table, i);

		current_request.matched |= is_new;
		/* Consecutive sites are often of the same probe. */
		if (sdt_probe_of(site) == offered && !is_new)
			continue;
		if ((!only || is_of(site, only)) && is_asked_for(table, i)) {
			offered = sdt_probe_of(site);
			err = offer_site(table, site, is_new, visit, data);
		}
	}
	return err;
}

static int visit_sdt_tables(struct module *module, const struct marker_event_offer *only,
			    marker_event_visitor *visit, void *data)
{
	struct sdt_table *table;
	int err = 0;

	mutex_lock(&sdt_registry.lock);
	list_for_each_entry(table, &sdt_registry.tables, node) {
		if ((module && table->sites.module != module) || !sdt_table_is_live(table))
			continue;
		err = visit_table(table, only, visit, data);
		if (err)
			break;
	}
	mutex_unlock(&sdt_registry.lock);
	return err;
}

static int visit_probes(struct module *module, marker_event_visitor *visit, void *data)
{
	return visit_sdt_tables(module, NULL, visit, data);
}

static int find_probe(const struct marker_event_offer *wanted, marker_event_visitor *visit,
		      void *data)
{
	return visit_sdt_tables(NULL, wanted, visit, data);
}

/*
 * The handler that writes records. A record holds the depth of disabled preemption less one, which
 * is that of the site: handlers are called with preemption disabled once.
 */
static void to_event(void *user, const struct sdt_hit *hit)
{
	unsigned long args[1 + SDT_MAX_ARGS];

	args[0] = hit->ip;
	memcpy(&args[1], hit->args, sizeof(hit->args));
	calls->write(user, args);
}

static void write_pattern(char *text, const struct marker_event_offer *event)
{
	snprintf(text, SDT_MAX_PATTERN, "%s:::", event->system + strlen(SYSTEM));
}

/* Attach to all sites of all probes that are this event. */
static int connect_sdt_event(const struct marker_event_offer *event, void *user)
{
	char text[SDT_MAX_PATTERN];

	write_pattern(text, event);
	return sdt_attach_event(text, event->name, event->format, to_event, user);
}

/* Always succeeds: once detached, the handler is not called, even if disabling a site failed. */
static int disconnect_sdt_event(const struct marker_event_offer *event, void *user)
{
	char text[SDT_MAX_PATTERN];

	write_pattern(text, event);
	sdt_detach(text, to_event, user);
	return 0;
}

static struct marker_event_source source = {
	.ready = make_sdt_events_ready,
	.visit = visit_probes,
	.find = find_probe,
	.connect = connect_sdt_event,
	.disconnect = disconnect_sdt_event,
};

static int get_calls(void)
{
	const struct marker_event_calls *found;
	int err;

	if (calls)
		return 0;
	found = symbol_get(marker_event_calls);
	if (!found) {
		pr_info("no trace events of SDT probes without kmarkers_markers\n");
		return -ENODEV;
	}
	err = found->join(&source);
	if (err)
		symbol_put(marker_event_calls);
	else
		calls = found;
	return err;
}

static struct request *find_request(const char *text)
{
	struct request *request;

	list_for_each_entry(request, &requests, node)
		if (!strcmp(request->text, text))
			return request;
	return NULL;
}

static void link_request(struct request *request, bool on)
{
	mutex_lock(&sdt_registry.lock);
	if (on)
		list_add_tail(&request->node, &requests);
	else
		list_del(&request->node);
	mutex_unlock(&sdt_registry.lock);
}

static void set_current(const struct request *request)
{
	mutex_lock(&sdt_registry.lock);
	current_request.request = request;
	current_request.matched = false;
	current_request.made = false;
	mutex_unlock(&sdt_registry.lock);
}

static int stop_asking(const char *pattern)
{
	struct request *request = find_request(pattern);
	int err;

	if (!request)
		return -ENOENT;
	link_request(request, false);
	err = calls->update(&source);
	if (!err) {
		kfree(request);
		return 0;
	}
	/* Modules may have been loaded meanwhile. */
	link_request(request, true);
	calls->update(&source);
	return err;
}

static int ask_for_events(const char *pattern)
{
	struct request *request;
	bool in_vain;
	int err;

	if (find_request(pattern))
		return -EBUSY;
	request = kzalloc(sizeof(*request), GFP_KERNEL);
	if (!request)
		return -ENOMEM;
	err = sdt_pattern_parse(&request->pattern, pattern) ?: get_calls();
	if (err) {
		kfree(request);
		return err;
	}
	strcpy(request->text, pattern);
	link_request(request, true);
	set_current(request);
	err = calls->update(&source);
	in_vain = current_request.matched && !current_request.made;
	if (!err && !current_request.matched)
		pr_info("%s: matches no site yet; waits for modules that are loaded later\n",
			pattern);
	set_current(NULL);
	if (err || !in_vain)
		return err;
	stop_asking(pattern);
	return -EOPNOTSUPP;
}

/* Print the requests, one line each: the pattern, and the number of sites that match. */
int sdt_events_show(struct seq_file *m)
{
	const struct request *request;

	mutex_lock(&sdt_registry.lock);
	list_for_each_entry(request, &requests, node)
		seq_printf(m, "%s event %u\n", request->text,
			   sdt_count_matches(&request->pattern, UINT_MAX));
	mutex_unlock(&sdt_registry.lock);
	return 0;
}

/**
 * sdt_event() - make probes trace events, or undo that
 * @pattern: those that have a site that matches, also one that comes later
 * @on: whether they are to be events
 *
 * Context: may sleep; one call at a time.
 * Return: 0; -EINVAL if @pattern is not valid; -EOPNOTSUPP if no probe that it matches can be an
 * event, for which the log gives the reason; -EBUSY if it was asked for already, or if somebody has
 * an event on that is to be none, or a reference to it; -ENOENT if it was not asked for, or if this
 * kernel has no events for modules; -ENODEV without kmarkers_markers; -ENOMEM. With an error
 * everything is as it was.
 */
int sdt_event(const char *pattern, bool on)
{
	return on ? ask_for_events(pattern) : stop_asking(pattern);
}

/* No client is loaded, and no command can run. */
void sdt_events_exit(void)
{
	struct request *request, *next;

	list_for_each_entry_safe(request, next, &requests, node) {
		link_request(request, false);
		kfree(request);
	}
	if (!calls)
		return;
	calls->leave(&source);
	symbol_put(marker_event_calls);
}
