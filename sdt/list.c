// SPDX-License-Identifier: GPL-2.0-only
/* Print the debugfs file sdt/list, and check the states that it shows. */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/seq_file.h>

#include "../base/lists.h"
#include "list.h"
#include "pattern.h"
#include "registry.h"
#include "sets.h"

static const char *const flavours[] = {
	[SDT_JUMP] = "jump",
	[SDT_BREAKPOINT] = "breakpoint",
	[SDT_NOP] = "nop",
	[SDT_SPLIT] = "split",
	[SDT_NOTE] = "note",
};

static const char *const modes[] = {
	[SDT_OFF] = "off",
	[SDT_TRAPPED] = "trapped",
	[SDT_CALLED] = "on",
	[SDT_PROBED] = "probed",
};

/* Print the function that contains a site, and the offsets of all copies in that function. */
static void show_site_location(struct seq_file *m, const struct sdt_table *table,
			       const struct sdt_state *state, const struct sdt_place *first_copy)
{
	const struct sdt_state *copy;
	struct sdt_place place;

	seq_printf(m, "%s@+0x%lx", first_copy->function, first_copy->offset);
	for (copy = sdt_get_next_copy(state); copy != state; copy = sdt_get_next_copy(copy)) {
		sdt_make_site_name(&place, table, copy->site);
		seq_printf(m, ",+0x%lx", place.offset);
	}
}

static void show_sdt_site(struct seq_file *m, const struct sdt_table *table, unsigned int i)
{
	const struct patcher_site *site = sdt_get_site(table, i);
	const struct sdt_state *state = &table->states[i];
	struct sdt_place place;

	if (state->to_first)
		return;
	sdt_make_site_name(&place, table, site);
	seq_printf(m, "%s:%s:%s:%s %s %s %u %lu ", place.part[SDT_PROVIDER],
		   place.part[SDT_MODULE], place.part[SDT_FUNCTION], place.part[SDT_NAME],
		   sdt_note_is_unarmable(table, i) ? "unarmable" : modes[state->mode],
		   flavours[site->size], sdt_count_live_handlers(sdt_get_handler_set(state)),
		   atomic_long_read(&state->counted));
	show_site_location(m, table, state, &place);
	seq_printf(m, " \"%s\"\n", sdt_get_probe(site)->types);
}

/* Show one line for each site and its copies, in the order of addresses within each table. */
int sdt_list_show(struct seq_file *m, void *unused)
{
	struct sdt_table *table;
	unsigned int i;

	seq_puts(m, "provider:module:function:name state flavour handlers counted place types\n");
	mutex_lock(&sdt_registry.lock);
	list_for_each_entry(table, &sdt_registry.tables, node)
		for (i = 0; i < table->sites.nr && kmarkers_seq_has_space(m); i++)
			show_sdt_site(m, table, i);
	mutex_unlock(&sdt_registry.lock);
	return 0;
}

/* Return the mode of a site with @handlers handlers. @promoted is true for promoted breakpoints. */
static enum sdt_mode get_expected_mode(const struct patcher_site *site, unsigned int handlers,
				       bool promoted)
{
	if (!handlers)
		return SDT_OFF;
	if (sdt_get_flavour(site) == SDT_NOTE)
		return SDT_PROBED;
	return sdt_get_flavour(site) == SDT_JUMP ||
	       (promoted && sdt_get_flavour(site) == SDT_BREAKPOINT) ? SDT_CALLED : SDT_TRAPPED;
}

/**
 * sdt_check_site_states() - check for a benchmark that all sites of a probe have the expected state
 * @probe: the probe
 * @handlers: number of handlers that must be attached to each site
 * @promoted: true if sites of the flavour breakpoint must be promoted to jumps
 *
 * Context: may sleep.
 * Return: 0, or -EBUSY after logging a site whose state is not the expected state.
 */
int sdt_check_site_states(const struct sdt_probe *probe, unsigned int handlers, bool promoted)
{
	enum sdt_mode expected;
	struct sdt_table *table;
	struct sdt_state *state;
	unsigned int i, live;
	int err = 0;

	mutex_lock(&sdt_registry.lock);
	sdt_for_each_state(state, table, i) {
		if (state->shown.probe != probe || err)
			continue;
		expected = get_expected_mode(state->site, handlers, promoted);
		live = sdt_count_live_handlers(sdt_get_handler_set(state));
		if (live == handlers && state->mode == expected)
			continue;
		pr_warn("SDT probe %s:%s: not measured: a site is %s (handlers: %u), but must be %s (handlers: %u): detach other handlers, set promote_after to 0, and demote promoted sites\n",
			probe->provider->name, probe->name, modes[state->mode], live,
			modes[expected], handlers);
		err = -EBUSY;
	}
	mutex_unlock(&sdt_registry.lock);
	return err;
}
EXPORT_SYMBOL_GPL(sdt_check_site_states);
