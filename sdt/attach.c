// SPDX-License-Identifier: GPL-2.0-only
/* Attach handlers to the sites that match a pattern, including sites of modules loaded later. */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "attach.h"
#include "pattern.h"
#include "registry.h"
#include "sets.h"
#include "switch.h"
#include "symbol.h"

/**
 * struct attachment - a handler and the pattern it is attached to
 * @node: link in the list of all attachments
 * @matched: true if at least one site has matched the pattern since the handler was attached
 * @call: the handler and its private data
 * @pattern: the pattern
 */
struct attachment {
	struct list_head node;
	bool matched;
	struct sdt_call call;
	struct sdt_pattern pattern;
};

static LIST_HEAD(attachments);

static struct attachment *find_attachment(const char *pattern, sdt_handler *handler, void *private)
{
	struct attachment *attachment;

	lockdep_assert_held(&sdt_registry.lock);
	list_for_each_entry(attachment, &attachments, node)
		if (attachment->call.handler == handler && attachment->call.private == private &&
		    !strcmp(attachment->pattern.names.text, pattern))
			return attachment;
	return NULL;
}

/* Add a handler to the handler sets of all matching sites of a table. Return 0 or -ENOMEM. */
static int add_handler_to_table(struct sdt_table *table, struct attachment *attachment)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < table->sites.nr && !err; i++) {
		if (sdt_note_is_unarmable(table, i) ||
		    !sdt_pattern_matches_site(&attachment->pattern, table, i))
			continue;
		attachment->matched = true;
		err = sdt_add_handler_to_site(&table->states[i], &attachment->call);
	}
	return err;
}

static int add_handler_to_tables(struct attachment *attachment)
{
	struct sdt_table *table;
	int err = 0;

	list_for_each_entry(table, &sdt_registry.tables, node) {
		err = add_handler_to_table(table, attachment);
		if (err)
			break;
	}
	return err;
}

static void revert_added_handlers(void)
{
	struct sdt_table *table;
	struct sdt_state *state;
	unsigned int i;

	sdt_for_each_state(state, table, i)
		sdt_revert_handler_set(state);
}

/*
 * Update all sites after handlers were removed: remove the handler set of each disabled site
 * without handlers, and for any other site, update the handler that a hit calls.
 */
static void update_handler_sets(void)
{
	struct sdt_table *table;
	struct sdt_state *state;
	unsigned int i;

	sdt_for_each_state(state, table, i) {
		struct sdt_set *set = sdt_get_handler_set(state);

		if (state->mode == SDT_OFF && !sdt_count_live_handlers(set))
			set = NULL;
		sdt_assign_handler_set(state, set);
	}
	sdt_commit_handler_sets();
}

/* Maximum number of unarmable SDT notes that are logged for one pattern. */
#define MAX_REPORTED	8

/**
 * struct matches - numbers of sites that a pattern matches
 * @unarmable: number of notes (sites without an instruction of their own) that cannot be armed
 * @others: number of all other matching sites
 */
struct matches {
	unsigned int unarmable;
	unsigned int others;
};

static void report_unarmable_notes(const struct sdt_table *table, const struct sdt_pattern *pattern,
				   struct matches *matches)
{
	unsigned int i;

	for (i = 0; i < table->sites.nr; i++) {
		if (!sdt_pattern_matches_site(pattern, table, i))
			continue;
		if (!sdt_note_is_unarmable(table, i))
			matches->others++;
		else if (matches->unarmable++ < MAX_REPORTED)
			pr_info("SDT probe %s: a site of the flavour 'note' cannot be armed: %s\n",
				sdt_get_probe(sdt_get_site(table, i))->name,
				table->notes[i].reason);
	}
}

/* Refuse a pattern that matches only SDT notes that cannot be armed. */
static int check_pattern_is_armable(const struct sdt_pattern *pattern)
{
	struct matches matches = {};
	struct sdt_table *table;

	list_for_each_entry(table, &sdt_registry.tables, node)
		report_unarmable_notes(table, pattern, &matches);
	if (matches.unarmable > MAX_REPORTED)
		pr_info("%u more sites of the flavour 'note' cannot be armed: the debugfs file sdt/notes gives the reasons\n",
			matches.unarmable - MAX_REPORTED);
	return matches.unarmable && !matches.others ? -EINVAL : 0;
}

/* Count the sites that a pattern matches, and copies of a site only once; stop at @max_sites. */
unsigned int sdt_count_matching_sites(const struct sdt_pattern *pattern, unsigned int max_sites)
{
	struct sdt_table *table;
	unsigned int i, nr = 0;

	lockdep_assert_held(&sdt_registry.lock);
	list_for_each_entry(table, &sdt_registry.tables, node)
		for (i = 0; i < table->sites.nr && nr < max_sites; i++)
			nr += !table->states[i].to_first &&
			      sdt_pattern_matches_site(pattern, table, i);
	return nr;
}

/*
 * Show a line for each attachment: the pattern, the handler, and the number of matching sites. Skip
 * attachments of trace events. @is_counter() returns true for the built-in handler that counts.
 */
int sdt_show_attachments(struct seq_file *m, bool (*is_counter)(sdt_handler *handler))
{
	const struct attachment *attachment;

	mutex_lock(&sdt_registry.lock);
	list_for_each_entry(attachment, &attachments, node) {
		if (attachment->pattern.event)
			continue;
		if (is_counter(attachment->call.handler))
			seq_printf(m, "%s count", attachment->pattern.names.text);
		else
			seq_printf(m, "%s %ps", attachment->pattern.names.text,
				   (void *)attachment->call.handler);
		seq_printf(m, " %u\n", sdt_count_matching_sites(&attachment->pattern, UINT_MAX));
	}
	mutex_unlock(&sdt_registry.lock);
	return 0;
}

/*
 * Refuse a pattern that names a function or an offset if the pattern matches no site and symbols
 * are missing: without symbols, a site has a function name only if the definition of its probe
 * gives one. Symbols can be missing only in user space.
 */
static int check_symbols_for_pattern(const struct sdt_pattern *pattern)
{
	if (!sdt_pattern_has_function(pattern) || sdt_count_matching_sites(pattern, 1))
		return 0;
	return sdt_require_symbols();
}

static int add_attachment(struct attachment *attachment)
{
	int err = check_pattern_is_armable(&attachment->pattern) ?:
		  check_symbols_for_pattern(&attachment->pattern) ?:
		  add_handler_to_tables(attachment) ?: sdt_enable_sites_with_handlers();

	if (!err) {
		list_add_tail(&attachment->node, &attachments);
		if (!attachment->matched)
			pr_info("pattern %s: matches no site yet; applies to modules loaded later\n",
				attachment->pattern.names.text);
	} else {
		revert_added_handlers();
		sdt_disable_sites_without_handlers();
	}
	sdt_commit_handler_sets();
	return err;
}

/*
 * Attach a handler as sdt_attach() does. If @event is not NULL, attach it only to sites whose probe
 * has this event name and format.
 */
int sdt_attach_event_handler(const char *pattern, const char *event, const char *format,
			     sdt_handler *handler, void *private)
{
	struct attachment *attachment = kzalloc(sizeof(*attachment), GFP_KERNEL);
	int err;

	if (!attachment)
		return -ENOMEM;
	err = sdt_pattern_parse(&attachment->pattern, pattern);
	if (!err) {
		attachment->pattern.event = event;
		attachment->pattern.format = format;
		attachment->call = (struct sdt_call){ handler, private, attachment };
		mutex_lock(&sdt_registry.lock);
		err = find_attachment(pattern, handler, private) ? -EBUSY :
		      add_attachment(attachment);
		mutex_unlock(&sdt_registry.lock);
	}
	if (err) {
		/* Wait for hits that began before the error, which may still run the handler. */
		synchronize_rcu();
		kfree(attachment);
	}
	return err;
}

/**
 * sdt_attach() - call a handler for every hit of the sites that match a pattern
 * @pattern: pattern of the sites: see PATTERNS in <kmarkers/sdt.h>
 * @handler: the handler
 * @private: passed to the handler
 *
 * The handler is also attached to matching sites of modules that are loaded later.
 *
 * Context: may sleep.
 * Return: 0; -EINVAL if @handler is NULL, or if @pattern is not valid or matches only SDT notes
 * that cannot be armed, with the reason in the log; -EBUSY if @handler and @private are attached to
 * @pattern already; -EOPNOTSUPP if @pattern names a function and matches no site, in a program
 * whose file has no symbols; -ENOMEM; or an error of patcher_apply(), patcher_store_traps() or, for
 * notes, register_kprobe(). After an error, all sites have their previous state, and @handler is
 * not called any more.
 */
int sdt_attach(const char *pattern, sdt_handler *handler, void *private)
{
	if (!pattern || !handler)
		return -EINVAL;
	return sdt_attach_event_handler(pattern, NULL, NULL, handler, private);
}
EXPORT_SYMBOL_GPL(sdt_attach);

static int remove_attachment(struct attachment *attachment)
{
	int err;

	list_del(&attachment->node);
	sdt_remove_handler_from_sets(attachment);
	err = sdt_disable_sites_without_handlers();
	update_handler_sets();
	kfree(attachment);
	return err;
}

/**
 * sdt_detach() - detach a handler
 * @pattern: the pattern that sdt_attach() was called with
 * @handler: the handler that sdt_attach() was called with
 * @private: the private data that sdt_attach() was called with
 *
 * After sdt_synchronize() the handler does not run any more, even if an error was returned.
 *
 * Context: may sleep.
 * Return: 0; -ENOENT if the handler was not attached; or an error of patcher_apply() or
 * patcher_store_traps(). After such an error some sites stay enabled without a handler; the next
 * call for any handler tries again to disable these sites.
 */
int sdt_detach(const char *pattern, sdt_handler *handler, void *private)
{
	struct attachment *attachment;
	int err;

	mutex_lock(&sdt_registry.lock);
	attachment = find_attachment(pattern, handler, private);
	err = attachment ? remove_attachment(attachment) : -ENOENT;
	mutex_unlock(&sdt_registry.lock);
	return err;
}
EXPORT_SYMBOL_GPL(sdt_detach);

/**
 * sdt_synchronize() - wait until detached handlers have returned
 *
 * Context: may sleep.
 */
void sdt_synchronize(void)
{
	might_sleep();
	synchronize_rcu();
}
EXPORT_SYMBOL_GPL(sdt_synchronize);

/* Detach all handlers for which @must_detach() returns true. */
void sdt_detach_handlers_if(bool (*must_detach)(void *data, const char *pattern,
						unsigned long handler), void *data)
{
	struct attachment *attachment, *next;

	mutex_lock(&sdt_registry.lock);
	list_for_each_entry_safe(attachment, next, &attachments, node)
		if (must_detach(data, attachment->pattern.names.text,
				(unsigned long)attachment->call.handler))
			remove_attachment(attachment);
	mutex_unlock(&sdt_registry.lock);
}

/*
 * Attach all handlers to the matching sites of a new table. The table is not in the registry's list
 * yet. Return 0 or -ENOMEM.
 */
int sdt_attach_handlers_to_table(struct sdt_table *table)
{
	struct attachment *attachment;
	int err = 0;

	lockdep_assert_held(&sdt_registry.lock);
	list_for_each_entry(attachment, &attachments, node) {
		err = add_handler_to_table(table, attachment);
		sdt_commit_handler_sets();
		if (err)
			break;
	}
	return err;
}

/* Detach all handlers from the sites of a table. */
void sdt_detach_handlers_from_table(struct sdt_table *table)
{
	unsigned int i;

	for (i = 0; i < table->sites.nr; i++)
		sdt_assign_handler_set(&table->states[i], NULL);
	sdt_commit_handler_sets();
}
