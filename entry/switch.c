// SPDX-License-Identifier: GPL-2.0-only
/*
 * Enable and disable sites: replace the nop by a call of entry_call(), or the call by the nop. All
 * sites that change are one batch of the patcher, which takes three rounds of synchronisation.
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
 * @sites: array of the sites
 * @pokes: array with room for a patcher_poke for each site
 * @stuck: array with room for a bool for each site
 * @nr: number of sites
 * @on: true if the sites are to be enabled, false if they are to be disabled
 */
struct changes {
	struct patcher_compact_site **sites;
	struct patcher_poke *pokes;
	bool *stuck;
	unsigned int nr;
	bool on;
};

static void set_entry_insn(u8 *insn, unsigned long addr, bool on)
{
	s32 distance = (unsigned long)entry_call - (addr + ENTRY_INSN_LEN);

	memcpy(insn, nop, ENTRY_INSN_LEN);
	if (!on)
		return;
	insn[0] = KMARKERS_CALL;
	memcpy(insn + 1, &distance, sizeof(distance));
}

static void make_entry_poke(struct patcher_poke *poke, const struct patcher_compact_site *site,
			    bool on)
{
	unsigned long addr = patcher_compact_addr(site);

	poke->addr = (u8 *)addr;
	poke->len = ENTRY_INSN_LEN;
	set_entry_insn(poke->old, addr, !on);
	set_entry_insn(poke->new, addr, on);
}

/*
 * True if @changes enables sites, and the site is disabled but its hits have an action; or if
 * @changes disables sites, and the site is enabled but its hits have no action.
 */
static bool needs_entry_change(const struct changes *changes,
			       const struct patcher_compact_site *site)
{
	return !(site->data & ENTRY_ON) == changes->on &&
	       entry_site_has_action(site) == changes->on;
}

/* Collect the sites that have to be switched; if @changes->sites is NULL, only count them. */
static void collect_entry_changes(struct changes *changes)
{
	struct entry_table *table;
	struct patcher_compact_site *site;
	unsigned int i;

	changes->nr = 0;
	entry_for_each_site(site, table, i) {
		if (!needs_entry_change(changes, site))
			continue;
		if (changes->sites)
			changes->sites[changes->nr] = site;
		changes->nr++;
	}
}

/* Enable all sites of @changes; if the patcher returns an error, none is enabled. */
static int enable_entry_sites(const struct changes *changes)
{
	int err = patcher_apply(entry_owner, changes->pokes, changes->nr);
	unsigned int i;

	for (i = 0; i < changes->nr && !err; i++)
		entry_update_flags(changes->sites[i], ENTRY_STUCK, ENTRY_ON);
	return err;
}

/* Disable as many sites as possible. Return 0 if all sites that stay enabled were stuck before. */
static int disable_entry_sites(const struct changes *changes)
{
	int err = patcher_apply_most(patcher_apply, entry_owner, changes->pokes, changes->nr,
				     changes->stuck);
	bool news = false;
	unsigned int i;

	if (err == -ENOMEM)
		return err;
	for (i = 0; i < changes->nr; i++) {
		news |= changes->stuck[i] && !(changes->sites[i]->data & ENTRY_STUCK);
		entry_update_flags(changes->sites[i], ENTRY_ON | ENTRY_STUCK,
				   changes->stuck[i] ? ENTRY_ON | ENTRY_STUCK : 0);
	}
	return news ? err : 0;
}

static int switch_entry_sites(bool on)
{
	struct changes changes = { .on = on };
	int err = -ENOMEM;
	unsigned int i;

	lockdep_assert_held(&entry_registry.lock);
	collect_entry_changes(&changes);
	if (!changes.nr)
		return 0;
	changes.sites = kvcalloc(changes.nr, sizeof(*changes.sites), GFP_KERNEL);
	changes.pokes = kvcalloc(changes.nr, sizeof(*changes.pokes), GFP_KERNEL);
	changes.stuck = kvcalloc(changes.nr, sizeof(*changes.stuck), GFP_KERNEL);
	if (changes.sites && changes.pokes && changes.stuck) {
		collect_entry_changes(&changes);
		for (i = 0; i < changes.nr; i++)
			make_entry_poke(&changes.pokes[i], changes.sites[i], on);
		err = on ? enable_entry_sites(&changes) : disable_entry_sites(&changes);
	}
	kvfree(changes.sites);
	kvfree(changes.pokes);
	kvfree(changes.stuck);
	return err;
}

/**
 * entry_enable_sites_with_actions() - enable every site whose hits have an action
 *
 * Context: may sleep; the registry's lock is held.
 * Return: 0; or -ENOMEM or an error of patcher_apply(), with no site changed.
 */
int entry_enable_sites_with_actions(void)
{
	struct entry_table *table;
	struct patcher_compact_site *site;
	unsigned int i;
	int err = switch_entry_sites(true);

	/* A stuck site whose hits now have an action is rightly enabled: clear its ENTRY_STUCK. */
	entry_for_each_site(site, table, i)
		if (!err && site->data & ENTRY_STUCK && entry_site_has_action(site))
			entry_update_flags(site, ENTRY_STUCK, 0);
	return err;
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
