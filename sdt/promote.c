// SPDX-License-Identifier: GPL-2.0-only
/*
 * Promote sites that are armed by a breakpoint to jumps: on request, or because they are hot.
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/mutex.h>
#include <linux/printk.h>

#include "pattern.h"
#include "promote.h"
#include "registry.h"
#include "sets.h"
#include "switch.h"

static int refuse(const struct patcher_site *site)
{
	if (sdt_flavour_of(site) == SDT_SPLIT)
		pr_info("%s: not promoted: its site is two nops, and a task preempted between them would resume inside the jump\n",
			sdt_probe_of(site)->name);
	else if (sdt_flavour_of(site) == SDT_NOTE)
		pr_info("%s: not promoted: it is a note, which has no instruction of its own\n",
			sdt_probe_of(site)->name);
	else
		pr_info("%s: not promoted: its instruction is too short for a jump\n",
			sdt_probe_of(site)->name);
	return -EINVAL;
}

/* Can all matching sites be promoted? */
static int check(const struct sdt_pattern *pattern)
{
	struct sdt_table *table;
	unsigned int i, nr = 0;

	list_for_each_entry(table, &sdt_registry.tables, node) {
		for (i = 0; i < table->sites.nr; i++) {
			const struct patcher_site *site = sdt_site(table, i);

			if (!sdt_pattern_matches(pattern, table, i))
				continue;
			if (!sdt_is_branch(site))
				return refuse(site);
			nr++;
		}
	}
	return nr ? 0 : -ENOENT;
}

/* Switch sites to their wanted mode; on an error, restore the previous one. */
static int apply_promotions(void)
{
	int err = sdt_switch_on();
	struct sdt_table *table;
	struct sdt_state *state;
	unsigned int i;

	sdt_for_each_state(state, table, i) {
		if (err)
			state->promoted = state->was_promoted;
		state->was_promoted = state->promoted;
	}
	if (err)
		sdt_switch_on();
	return err;
}

/**
 * sdt_promote() - promote sites from breakpoints to jumps, or demote them
 * @pattern: the sites
 * @on: whether to promote or to demote them
 *
 * They stay promoted while nothing is attached to them.  To sites of the flavour jump
 * it means nothing.
 *
 * Context: may sleep.
 * Return: 0; -EINVAL if @pattern is not valid, or if a site cannot be promoted, with the reason in
 * the log; -ENOENT if no site matches; -ENOMEM, or what patcher_apply() and patcher_store_traps()
 * return. With an error everything is as it was.
 */
int sdt_promote(const char *pattern, bool on)
{
	struct sdt_pattern parsed;
	struct sdt_table *table;
	struct sdt_state *state;
	unsigned int i;
	int err = sdt_pattern_parse(&parsed, pattern);

	if (err)
		return err;
	mutex_lock(&sdt_registry.lock);
	err = check(&parsed);
	if (!err) {
		sdt_for_each_state(state, table, i)
			if (sdt_pattern_matches(&parsed, table, i))
				state->promoted = on;
		err = apply_promotions();
	}
	mutex_unlock(&sdt_registry.lock);
	return err;
}
EXPORT_SYMBOL_GPL(sdt_promote);

/*
 * The maximum number of sites for which the log says each time that they could not be promoted or
 * demoted.
 */
#define MAX_REPORTED	8

/* Is an enabled site in another mode than the wanted one? Without handlers it is to be disabled. */
static bool is_held(const struct sdt_state *state)
{
	return sdt_live(sdt_set_of(state)) && state->mode != SDT_OFF &&
	       state->promoted != (state->mode == SDT_CALLED);
}

static void report_held(const struct patcher_site *site, const struct sdt_state *state)
{
	pr_info("%s: could not be %s: the instruction at %pS cannot be patched now, for example because of a kprobe beside it\n",
		sdt_probe_of(site)->name, state->promoted ? "promoted" : "demoted",
		(void *)patcher_site_addr(site));
}

/* Leave sites that could not be changed as they are, and log each once. */
static void keep_held(void)
{
	struct sdt_table *table;
	struct sdt_state *state;
	unsigned int i, nr = 0;

	sdt_for_each_state(state, table, i) {
		bool held = is_held(state);

		if (sdt_flavour_of(sdt_site(table, i)) != SDT_BREAKPOINT)
			continue;
		if (held && !state->is_held && nr++ < MAX_REPORTED)
			report_held(sdt_site(table, i), state);
		if (state->mode != SDT_OFF)
			state->promoted = state->mode == SDT_CALLED;
		/* One that is as it was may have been so because it was not hot for a while. */
		if (held || state->was_promoted != state->promoted)
			state->is_held = held;
		state->was_promoted = state->promoted;
	}
	if (nr > MAX_REPORTED)
		pr_info("%u more sites are neither promoted nor demoted\n", nr - MAX_REPORTED);
}

/**
 * sdt_promote_hot() - promote sites that were hit often, demote the others
 * @most: how many hits a site may have had since the last call, to be none of them
 *
 * Sites that cannot be changed, as beside a kprobe, stay as they are, and are tried again by the
 * next call.
 *
 * Context: may sleep.
 * Return: as sdt_switch_hot().
 */
int sdt_promote_hot(unsigned int most)
{
	struct sdt_table *table;
	struct sdt_state *state;
	unsigned int i;
	int err;

	mutex_lock(&sdt_registry.lock);
	sdt_for_each_state(state, table, i) {
		if (sdt_flavour_of(sdt_site(table, i)) != SDT_BREAKPOINT)
			continue;
		/* The first of its copies, which has their hits, comes first. */
		state->promoted = state->to_first ? sdt_first_copy(state)->promoted :
						    READ_ONCE(state->hits) > most;
		WRITE_ONCE(state->hits, 0);
	}
	err = sdt_switch_hot();
	keep_held();
	mutex_unlock(&sdt_registry.lock);
	return err;
}
