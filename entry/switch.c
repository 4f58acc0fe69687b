// SPDX-License-Identifier: GPL-2.0-only
/*
 * Enable and disable sites: replace the nop by a call of entry_call(), or the call by the nop. All
 * sites are changed in one batch of the patcher, which takes three rounds of synchronisation.
 */
#include <linux/errno.h>
#include <linux/lockdep.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <kmarkers/opcodes.h>

#include "hit.h"
#include "registry.h"
#include "switch.h"

static const u8 nop[ENTRY_INSN_LEN] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };

/**
 * struct changes - sites that are to be enabled or disabled in one batch
 * @pokes: array with a patcher_poke for each site
 * @stuck: array with a bool for each site, in the same order; NULL if the sites are to be enabled
 * @nr: number of sites
 * @actions: for entries and for exits, the actions that require an enabled site: ENTRY_COUNT, and
 *	ENTRY_EVENT if the trace event has users
 */
struct changes {
	struct patcher_poke *pokes;
	bool *stuck;
	unsigned int nr;
	u32 actions[ENTRY_KINDS];
};

/* True if the hits of a site are counted, or recorded as a trace event that has users. */
static __always_inline bool should_site_be_enabled(const struct changes *changes,
						   const struct patcher_compact_site *site)
{
	return site->data & changes->actions[site->data & ENTRY_EXIT];
}

/*
 * If @on is true, return true for a disabled site whose hits have an action.  If @on is false,
 * return true for an enabled site whose hits have no action.
 */
static __always_inline bool needs_entry_change(const struct changes *changes,
					       const struct patcher_compact_site *site, bool on)
{
	return !(site->data & ENTRY_ON) == on && should_site_be_enabled(changes, site) == on;
}

static __always_inline void make_entry_poke(struct patcher_poke *poke,
					    const struct patcher_compact_site *site, bool on)
{
	unsigned long addr = patcher_compact_addr(site);
	s32 distance = (unsigned long)entry_call - (addr + ENTRY_INSN_LEN);
	u8 *call = on ? poke->new : poke->old;

	poke->addr = (u8 *)addr;
	poke->len = ENTRY_INSN_LEN;
	memcpy(on ? poke->old : poke->new, nop, ENTRY_INSN_LEN);
	call[0] = KMARKERS_CALL;
	memcpy(call + 1, &distance, sizeof(distance));
}

static void count_entry_changes(struct changes *changes, bool on)
{
	const struct patcher_compact_site *site, *end;
	struct entry_table *table;
	unsigned int nr = 0;

	entry_for_each_changed_table(table) {
		end = table->sites.compact + table->sites.nr;
		for (site = table->sites.compact; site < end; site++)
			nr += needs_entry_change(changes, site, on);
	}
	changes->nr = nr;
}

/*
 * Make a poke for each site that has to be switched.  The function is inlined into each caller,
 * where @on is a constant.
 */
static __always_inline void make_entry_pokes(const struct changes *changes, bool on)
{
	const struct patcher_compact_site *site, *end;
	struct patcher_poke *poke = changes->pokes;
	struct entry_table *table;

	entry_for_each_changed_table(table) {
		end = table->sites.compact + table->sites.nr;
		for (site = table->sites.compact; site < end; site++)
			if (needs_entry_change(changes, site, on))
				make_entry_poke(poke++, site, on);
	}
}

/*
 * Mark the sites of a table that were enabled.  If the hits of a site have an action now, remove
 * the mark "stuck" of the site, because it should be enabled.
 */
static void mark_enabled_sites(struct entry_table *table, const struct changes *changes)
{
	struct patcher_compact_site *site = table->sites.compact, *end = site + table->sites.nr;
	bool changed = false;

	for (; site < end; site++) {
		if (should_site_be_enabled(changes, site))
			entry_update_flags(site, ENTRY_STUCK, ENTRY_ON);
		else if (site->data & ENTRY_ON)
			changed = true;
	}
	table->changed = changed;
}

/*
 * Mark each site of a table that had to be disabled: as stuck if the site's element of @stuck is
 * true, else as disabled.  Set @newly_stuck to true if a stuck site was not marked as stuck before.
 * Return the address behind the table's last element of @stuck.
 */
static const bool *mark_disabled_sites(struct entry_table *table, const struct changes *changes,
				       const bool *stuck, bool *newly_stuck)
{
	struct patcher_compact_site *site = table->sites.compact, *end = site + table->sites.nr;
	bool changed = false;

	for (; site < end; site++) {
		if (!needs_entry_change(changes, site, false))
			continue;
		if (!*stuck++) {
			entry_update_flags(site, ENTRY_ON | ENTRY_STUCK, 0);
			continue;
		}
		if (!(site->data & ENTRY_STUCK))
			*newly_stuck = true;
		entry_update_flags(site, 0, ENTRY_STUCK);
		changed = true;
	}
	table->changed = changed;
	return stuck;
}

/* Enable all sites of @changes; if the patcher returns an error, no site is enabled. */
static int enable_entry_sites(const struct changes *changes)
{
	struct entry_table *table;
	int err;

	make_entry_pokes(changes, true);
	err = changes->nr ? patcher_apply(entry_owner, changes->pokes, changes->nr) : 0;
	if (err)
		return err;
	entry_for_each_changed_table(table)
		mark_enabled_sites(table, changes);
	return 0;
}

/* Disable as many sites as possible. Ignore errors at sites that were already marked as stuck. */
static int disable_entry_sites(const struct changes *changes)
{
	const bool *stuck = changes->stuck;
	struct entry_table *table;
	bool newly_stuck = false;
	int err = 0;

	make_entry_pokes(changes, false);
	if (changes->nr)
		err = patcher_apply_most(patcher_apply, entry_owner, changes->pokes, changes->nr,
					 changes->stuck);
	if (err == -ENOMEM)
		return err;
	entry_for_each_changed_table(table)
		stuck = mark_disabled_sites(table, changes, stuck, &newly_stuck);
	return newly_stuck ? err : 0;
}

static int switch_entry_sites(bool on)
{
	struct changes changes = { NULL };
	unsigned int kind;
	int err = -ENOMEM;

	lockdep_assert_held(&entry_registry.lock);
	for (kind = 0; kind < ENTRY_KINDS; kind++)
		changes.actions[kind] = list_empty(&entry_registry.users[kind]) ?
					ENTRY_COUNT : ENTRY_ACTIONS;
	count_entry_changes(&changes, on);
	if (changes.nr) {
		changes.pokes = kvcalloc(changes.nr, sizeof(*changes.pokes), GFP_KERNEL);
		changes.stuck = on ? NULL : kvcalloc(changes.nr, sizeof(bool), GFP_KERNEL);
	}
	if (!changes.nr || (changes.pokes && (on || changes.stuck)))
		err = on ? enable_entry_sites(&changes) : disable_entry_sites(&changes);
	kvfree(changes.pokes);
	kvfree(changes.stuck);
	return err;
}

/* Mark all tables as changed, because the users of a trace event have changed. */
void entry_mark_all_tables_changed(void)
{
	struct entry_table *table;

	lockdep_assert_held(&entry_registry.lock);
	list_for_each_entry(table, &entry_registry.tables, node)
		table->changed = true;
}

/**
 * entry_enable_sites_with_actions() - enable every site whose hits have an action
 *
 * Context: may sleep; the registry's lock is held.
 * Return: 0; or -ENOMEM or an error of patcher_apply(), with no site changed.
 */
int entry_enable_sites_with_actions(void)
{
	return switch_entry_sites(true);
}

/**
 * entry_disable_sites_without_actions() - disable every site whose hits have no action
 *
 * Context: may sleep; the registry's lock is held.
 * Return: 0; -ENOMEM with no site changed; or an error of patcher_apply() if a site that was not
 * stuck before could not be disabled.
 */
int entry_disable_sites_without_actions(void)
{
	return switch_entry_sites(false);
}

/* True if at least one site is enabled. */
bool entry_is_any_site_enabled(void)
{
	struct entry_table *table;
	struct patcher_compact_site *site;
	unsigned int i;

	lockdep_assert_held(&entry_registry.lock);
	entry_for_each_site(site, table, i)
		if (site->data & ENTRY_ON)
			return true;
	return false;
}
