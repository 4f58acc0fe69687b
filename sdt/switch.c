// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bringing the instructions of sites in line with their handlers.
 *
 * All changes of one byte, to and from breakpoints, are one batch of one round; all
 * others are one batch of three.
 */
#include <linux/compiler.h>
#include <linux/lockdep.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <kmarkers/branch.h>
#include <kmarkers/opcodes.h>
#include <kmarkers/patcher.h>

#include "registry.h"
#include "sets.h"
#include "switch.h"

/**
 * struct change - a site that changes
 * @state: its state
 * @from: what its instruction is, enum sdt_mode
 * @to: what it shall be
 * @is_store: one byte does it
 */
struct change {
	struct sdt_state *state;
	u8 from;
	u8 to;
	bool is_store;
};

/**
 * struct changes - all that are made together
 * @list: each of them
 * @nr: how many
 * @stores: those of one byte
 * @nr_stores: how many
 * @others: all others
 * @nr_others: how many
 */
struct changes {
	struct change *list;
	unsigned int nr;
	struct patcher_poke *stores;
	unsigned int nr_stores;
	struct patcher_poke *others;
	unsigned int nr_others;
};

static enum sdt_mode wanted(const struct patcher_site *site, const struct sdt_state *state)
{
	if (!sdt_live(sdt_set_of(state)))
		return SDT_OFF;
	return sdt_flavour_of(site) == SDT_JUMP || state->promoted ? SDT_CALLED : SDT_TRAPPED;
}

/* The first byte of what stands where no breakpoint does. */
static u8 first_byte(const struct patcher_site *site, enum sdt_mode mode)
{
	switch (sdt_flavour_of(site)) {
	case SDT_NOP:
		return 0x90;
	case SDT_SPLIT:
		return 0x0f;
	default:
		return mode == SDT_CALLED ? KMARKERS_BRANCH_ON[0] : (u8)KMARKERS_BRANCH_OFF[0];
	}
}

/* Write an instruction, but for what is behind a breakpoint and what is the same in all. */
static void set_insn(u8 *insn, const struct patcher_site *site, enum sdt_mode mode)
{
	if (mode == SDT_TRAPPED)
		insn[0] = KMARKERS_INT3;
	else if (sdt_is_branch(site))
		kmarkers_switch_branch(insn, mode == SDT_CALLED);
	else
		insn[0] = first_byte(site, mode);
}

/* What is not as it is expected the patcher will find, and say whose it is. */
static bool make_poke(struct patcher_poke *poke, const struct patcher_site *site,
		      enum sdt_mode from, enum sdt_mode to)
{
	poke->addr = (u8 *)patcher_site_addr(site);
	poke->len = site->len;
	memcpy(poke->old, poke->addr, site->len);
	set_insn(poke->old, site, from);
	memcpy(poke->new, poke->old, site->len);
	set_insn(poke->new, site, to);
	/* Behind a breakpoint there may be what is left of a jump. */
	return (from == SDT_TRAPPED || to == SDT_TRAPPED) &&
	       !memcmp(poke->old + 1, poke->new + 1, site->len - 1);
}

static unsigned int count_changes(void)
{
	struct sdt_table *table;
	struct sdt_state *state;
	unsigned int i, nr = 0;

	sdt_for_each_state(state, table, i)
		nr += state->mode != wanted(&table->sites.sites[i], state);
	return nr;
}

static void collect_change(struct changes *changes, const struct patcher_site *site,
			   struct sdt_state *state)
{
	struct change *change = &changes->list[changes->nr];
	struct patcher_poke poke = { NULL };

	change->state = state;
	change->from = state->mode;
	change->to = wanted(site, state);
	if (change->from == change->to)
		return;
	change->is_store = make_poke(&poke, site, change->from, change->to);
	if (change->is_store)
		changes->stores[changes->nr_stores++] = poke;
	else
		changes->others[changes->nr_others++] = poke;
	changes->nr++;
}

static int begin(struct changes *changes, unsigned int nr)
{
	struct sdt_table *table;
	struct sdt_state *state;
	unsigned int i;

	/* One more: what turns out to be no change is written, too. */
	changes->list = kvcalloc(nr + 1, sizeof(*changes->list), GFP_KERNEL);
	changes->stores = kvcalloc(nr, sizeof(*changes->stores), GFP_KERNEL);
	changes->others = kvcalloc(nr, sizeof(*changes->others), GFP_KERNEL);
	if (!changes->list || !changes->stores || !changes->others)
		return -ENOMEM;
	sdt_for_each_state(state, table, i)
		collect_change(changes, &table->sites.sites[i], state);
	return 0;
}

/*
 * A site that comes to be armed is so before its breakpoint can be met, and one that
 * goes is so until no CPU can meet it any more.
 */
static void set_modes(const struct changes *changes, bool is_store, bool applied, int err)
{
	unsigned int i;

	for (i = 0; i < changes->nr; i++) {
		const struct change *change = &changes->list[i];

		if (change->is_store != is_store)
			continue;
		if (applied)
			WRITE_ONCE(change->state->mode, err ? change->from : change->to);
		else if (change->from == SDT_OFF)
			WRITE_ONCE(change->state->mode, change->to);
	}
}

static int apply(const struct changes *changes, bool is_store)
{
	unsigned int nr = is_store ? changes->nr_stores : changes->nr_others;
	int err;

	if (!nr)
		return 0;
	set_modes(changes, is_store, false, 0);
	err = is_store ? patcher_store_traps(sdt_owner, changes->stores, nr) :
			 patcher_apply(sdt_owner, changes->others, nr);
	set_modes(changes, is_store, true, err);
	return err;
}

/**
 * sdt_switch_sites() - switch every site that is not as its handlers want it
 *
 * Context: may sleep; the registry's lock is held.
 * Return: 0, -ENOMEM or what the patcher returns.  With an error, some sites may
 * have been switched: what they are is known, and the next call goes on from there.
 */
int sdt_switch_sites(void)
{
	struct changes changes = { NULL };
	unsigned int nr;
	int err = 0;

	lockdep_assert_held(&sdt_registry.lock);
	nr = count_changes();
	if (nr)
		err = begin(&changes, nr) ?: apply(&changes, false) ?: apply(&changes, true);
	kvfree(changes.list);
	kvfree(changes.stores);
	kvfree(changes.others);
	return err;
}

/* Switch off the sites of a new table, which were compiled as conditional jumps. */
int sdt_switch_new(const struct patcher_table *sites)
{
	struct patcher_poke *pokes = kvcalloc(sites->nr, sizeof(*pokes), GFP_KERNEL);
	unsigned int i, nr = 0;
	int err = 0;

	if (!pokes)
		return -ENOMEM;
	for (i = 0; i < sites->nr; i++) {
		const struct patcher_site *site = &sites->sites[i];
		struct patcher_poke *poke = &pokes[nr];

		if (!sdt_is_branch(site))
			continue;
		make_poke(poke, site, SDT_OFF, SDT_OFF);
		memcpy(poke->old, KMARKERS_BRANCH_COMPILED, KMARKERS_BRANCH_HEAD);
		nr++;
	}
	if (nr)
		err = patcher_apply_new(sites, pokes, nr);
	kvfree(pokes);
	return err;
}
