// SPDX-License-Identifier: GPL-2.0-only
/*
 * Promote sites: replace the breakpoint that arms a site by a jump, either by a command or because
 * the site is hit often.
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

/* Log why a site cannot be promoted to a jump. Return -EINVAL. */
static int log_refused_promotion(const struct patcher_site *site)
{
	if (sdt_get_flavour(site) == SDT_SPLIT)
		pr_info("SDT probe %s: not promoted to a jump: its site is two nops, and a task preempted between them would resume inside a jump\n",
			sdt_get_probe(site)->name);
	else if (sdt_get_flavour(site) == SDT_NOTE)
		pr_info("SDT probe %s: not promoted to a jump: this site is an SDT note, which describes code but adds no instruction that can be replaced\n",
			sdt_get_probe(site)->name);
	else
		pr_info("SDT probe %s: not promoted to a jump: its instruction is shorter than a jump\n",
			sdt_get_probe(site)->name);
	return -EINVAL;
}

/* Check that all matching sites can be promoted to jumps, and that at least one site matches. */
static int check_pattern_is_promotable(const struct sdt_pattern *pattern)
{
	struct sdt_table *table;
	unsigned int i, nr = 0;

	list_for_each_entry(table, &sdt_registry.tables, node) {
		for (i = 0; i < table->sites.nr; i++) {
			const struct patcher_site *site = sdt_get_site(table, i);

			if (!sdt_pattern_matches_site(pattern, table, i))
				continue;
			if (!sdt_is_branch(site))
				return log_refused_promotion(site);
			nr++;
		}
	}
	return nr ? 0 : -ENOENT;
}

/* Switch sites between breakpoint and jump as requested; after an error, switch the sites back. */
static int apply_promotions(void)
{
	int err = sdt_enable_sites_with_handlers();
	struct sdt_table *table;
	struct sdt_state *state;
	unsigned int i;

	sdt_for_each_state(state, table, i) {
		if (err)
			state->promoted = state->was_promoted;
		state->was_promoted = state->promoted;
	}
	if (err)
		sdt_enable_sites_with_handlers();
	return err;
}

/**
 * sdt_promote() - promote sites from breakpoints to jumps, or demote them
 * @pattern: pattern of the sites
 * @on: true to promote the sites, false to demote them
 *
 * A site keeps its promotion while it has no handlers. There is no effect on a site whose flavour
 * is "jump", because such a site is always enabled as a jump.
 *
 * Context: may sleep.
 * Return: 0; -EINVAL if @pattern is not valid, or if a site cannot be promoted, with the reason in
 * the log; -ENOENT if no site matches; -ENOMEM, or an error of patcher_apply() or
 * patcher_store_traps(). With an error nothing is changed.
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
	err = check_pattern_is_promotable(&parsed);
	if (!err) {
		sdt_for_each_state(state, table, i)
			if (sdt_pattern_matches_site(&parsed, table, i))
				state->promoted = on;
		err = apply_promotions();
	}
	mutex_unlock(&sdt_registry.lock);
	return err;
}
EXPORT_SYMBOL_GPL(sdt_promote);

/*
 * Maximum number of failed changes that one call of sdt_promote_hot_sites() logs. A change fails if
 * a site cannot be promoted to a jump or demoted to a breakpoint.
 */
#define MAX_REPORTED	8

/*
 * True if an enabled site is a jump but should be a breakpoint, or is a breakpoint but should be a
 * jump. False for a site without handlers, because such a site should be disabled.
 */
static bool is_site_mode_wrong(const struct sdt_state *state)
{
	return sdt_count_live_handlers(sdt_get_handler_set(state)) && state->mode != SDT_OFF &&
	       state->promoted != (state->mode == SDT_CALLED);
}

static void report_unchanged_site(const struct patcher_site *site, const struct sdt_state *state)
{
	const char *name = sdt_get_probe(site)->name;
	void *addr = (void *)patcher_site_addr(site);

	if (state->promoted)
		pr_info("SDT probe %s: could not be promoted to a jump: the instruction at %pS cannot be patched now, for example because of a kprobe beside it\n",
			name, addr);
	else
		pr_info("SDT probe %s: could not be demoted to a breakpoint: the instruction at %pS cannot be patched now, for example because of a kprobe beside it\n",
			name, addr);
}

/*
 * After an attempt to promote sites to jumps and to demote sites to breakpoints, set @promoted of
 * each enabled site according to its actual mode. Log each site whose change failed, unless the
 * previous change of that site failed, too.
 */
static void update_promoted_flags(void)
{
	struct sdt_table *table;
	struct sdt_state *state;
	unsigned int i, nr = 0;

	sdt_for_each_state(state, table, i) {
		bool failed = is_site_mode_wrong(state);

		if (sdt_get_flavour(sdt_get_site(table, i)) != SDT_BREAKPOINT)
			continue;
		if (failed && !state->change_failed && nr++ < MAX_REPORTED)
			report_unchanged_site(sdt_get_site(table, i), state);
		if (state->mode != SDT_OFF)
			state->promoted = state->mode == SDT_CALLED;
		/*
		 * If no change of the site was tried, keep @change_failed: the kprobe that made an
		 * earlier change fail may still be registered.
		 */
		if (failed || state->was_promoted != state->promoted)
			state->change_failed = failed;
		state->was_promoted = state->promoted;
	}
	if (nr > MAX_REPORTED)
		pr_info("SDT probes: %u more sites could not be promoted to jumps or demoted to breakpoints\n",
			nr - MAX_REPORTED);
}

/**
 * sdt_promote_hot_sites() - promote sites that were hit often to jumps, demote all other sites
 * @limit: a site with more than @limit hits since the last call is promoted
 *
 * A site that cannot be changed, for example because of a kprobe beside the site, is left
 * unchanged; the next call tries again.
 *
 * Context: may sleep.
 * Return: as sdt_switch_promoted_sites().
 */
int sdt_promote_hot_sites(unsigned int limit)
{
	struct sdt_table *table;
	struct sdt_state *state;
	unsigned int i;
	int err;

	mutex_lock(&sdt_registry.lock);
	sdt_for_each_state(state, table, i) {
		if (sdt_get_flavour(sdt_get_site(table, i)) != SDT_BREAKPOINT)
			continue;
		/* Only the first copy of a site counts hits. The loop visits this copy first. */
		state->promoted = state->to_first ? sdt_get_first_copy(state)->promoted :
						    READ_ONCE(state->hits) > limit;
		WRITE_ONCE(state->hits, 0);
	}
	err = sdt_switch_promoted_sites();
	update_promoted_flags();
	mutex_unlock(&sdt_registry.lock);
	return err;
}
