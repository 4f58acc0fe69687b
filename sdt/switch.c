// SPDX-License-Identifier: GPL-2.0-only
/*
 * Enable sites that have handlers, disable those that have none, and promote or demote sites.
 *
 * Changes of a single byte, to or from a breakpoint, are applied in one batch of the patcher, with
 * one round of synchronisation.  All other changes are applied in another batch, with three rounds.
 * Sites are disabled in batches of their own: a site that cannot be disabled then does not keep
 * others from being enabled.  Hot sites, too, are promoted and demoted in batches of their own.
 * Notes are armed with kprobes.
 */
#include <linux/compiler.h>
#include <linux/lockdep.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <kmarkers/branch.h>
#include <kmarkers/opcodes.h>
#include <kmarkers/patcher.h>

#include "note_kprobes.h"
#include "registry.h"
#include "sets.h"
#include "switch.h"

/*
 * First bytes of a disabled site that a breakpoint can arm.  As in KMARKERS_BRANCH_OFF, they begin
 * a nop whose last four bytes are the displacement of the jump.  If the kernel decodes the function
 * while the first byte is a breakpoint, it finds two instructions behind that byte: 1f, and a9 with
 * four bytes.  They end where the nop ends, so it decodes the next instruction correctly.
 */
#define TRAPPABLE_OFF	"\x0f\x1f\xa9"

/**
 * struct change - a pending change of a site
 * @site: the site
 * @state: state of the site
 * @from: current mode of the site, enum sdt_mode
 * @to: new mode of the site, enum sdt_mode
 */
struct change {
	const struct patcher_site *site;
	struct sdt_state *state;
	u8 from;
	u8 to;
};

/**
 * struct changes - changes that are applied in one batch, and the kind of these changes
 * @list: array of the changes
 * @pokes: array with room for a patcher_poke for each change
 * @nr: number of changes
 * @to_off: true if the changes disable sites; false if they enable, promote or demote sites
 * @is_store: true if each change stores a single byte, false if each stores several
 * @is_hot: true to include only changes of enabled sites, between breakpoint and jump
 */
struct changes {
	struct change *list;
	struct patcher_poke *pokes;
	unsigned int nr;
	bool to_off;
	bool is_store;
	bool is_hot;
};

/* Return the mode that a site should have. */
static enum sdt_mode choose_mode(const struct patcher_site *site, const struct sdt_state *state)
{
	if (!sdt_live(sdt_set_of(state)))
		return SDT_OFF;
	return sdt_flavour_of(site) == SDT_JUMP || state->promoted ? SDT_CALLED : SDT_TRAPPED;
}

/*
 * Set the first bytes of a site's instruction for a mode. The displacement of the jump, in the last
 * bytes, never changes.
 */
static void set_sdt_insn(u8 *insn, const struct patcher_site *site, enum sdt_mode mode)
{
	if (mode == SDT_TRAPPED)
		insn[0] = KMARKERS_INT3;
	else if (mode == SDT_OFF && sdt_flavour_of(site) == SDT_BREAKPOINT)
		memcpy(insn, TRAPPABLE_OFF, KMARKERS_BRANCH_HEAD);
	else if (sdt_is_branch(site))
		kmarkers_switch_branch(insn, mode == SDT_CALLED);
	else
		insn[0] = sdt_flavour_of(site) == SDT_NOP ? 0x90 : 0x0f;
}

/*
 * Fill in the old and new bytes of a site's instruction. Return true if only the first byte is
 * stored, to or from a breakpoint. The patcher checks the old bytes.
 */
static bool make_sdt_poke(struct patcher_poke *poke, const struct patcher_site *site,
			  enum sdt_mode from, enum sdt_mode to)
{
	poke->addr = (u8 *)patcher_site_addr(site);
	poke->len = site->len;
	memcpy(poke->old, poke->addr, site->len);
	set_sdt_insn(poke->old, site, from);
	memcpy(poke->new, poke->old, site->len);
	set_sdt_insn(poke->new, site, to);
	/* Compare all bytes but the first: behind a breakpoint, the rest of a jump may remain. */
	return (from == SDT_TRAPPED || to == SDT_TRAPPED) &&
	       !memcmp(poke->old + 1, poke->new + 1, site->len - 1);
}

/* Fill in @change for a site. Return true if it is needed, and of the kind of @changes. */
static bool is_sdt_change(struct change *change, const struct changes *changes,
			  const struct patcher_site *site, struct sdt_state *state)
{
	struct patcher_poke poke;

	change->site = site;
	change->state = state;
	change->from = state->mode;
	change->to = choose_mode(site, state);
	if (changes->is_hot && change->from == SDT_OFF)
		return false;
	return change->from != change->to && (change->to == SDT_OFF) == changes->to_off &&
	       make_sdt_poke(&poke, site, change->from, change->to) == changes->is_store;
}

/* Collect all changes of the kind of @changes; if @changes->list is NULL, only count them. */
static void collect_sdt_changes(struct changes *changes)
{
	struct sdt_table *table;
	struct sdt_state *state;
	struct change change;
	unsigned int i;

	changes->nr = 0;
	sdt_for_each_state(state, table, i) {
		if (table->notes || !is_sdt_change(&change, changes, sdt_site(table, i), state))
			continue;
		if (changes->list)
			changes->list[changes->nr] = change;
		changes->nr++;
	}
}

/*
 * Update the modes of sites. This is called before (@is_done false) and after their instructions
 * are written: the mode must be SDT_TRAPPED before the breakpoint is written, and until no CPU can
 * hit it any more.
 */
static void set_modes(const struct change *list, unsigned int nr, bool is_done, int err)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (is_done)
			WRITE_ONCE(list[i].state->mode, err ? list[i].from : list[i].to);
		else if (list[i].to == SDT_TRAPPED)
			WRITE_ONCE(list[i].state->mode, SDT_TRAPPED);
	}
}

/* Apply @nr changes from the index @first on, either all of them or none. */
static int apply_sdt_pokes(const struct changes *changes, unsigned int first, unsigned int nr)
{
	const struct change *list = changes->list + first;
	unsigned int i;
	int err;

	for (i = 0; i < nr; i++)
		make_sdt_poke(&changes->pokes[i], list[i].site, list[i].from, list[i].to);
	set_modes(list, nr, false, 0);
	err = changes->is_store ? patcher_store_traps(sdt_owner, changes->pokes, nr) :
				  patcher_apply(sdt_owner, changes->pokes, nr);
	set_modes(list, nr, true, err);
	return err;
}

/*
 * Apply one change. If it fails to disable a site, mark the site as stuck, and return the error, or
 * 0 if the site was stuck before.
 */
static int apply_single_change(const struct changes *changes, unsigned int i)
{
	struct sdt_state *state = changes->list[i].state;
	int err = apply_sdt_pokes(changes, i, 1);

	if (changes->is_hot)
		return err;
	if (err && state->is_stuck)
		return 0;
	state->is_stuck = err;
	return err;
}

/* Apply as many changes as possible. Bisect a batch that fails, because nearly all succeed. */
static int apply_most_sdt_pokes(const struct changes *changes, unsigned int first, unsigned int nr)
{
	unsigned int half = nr / 2;
	int err, other;

	if (nr == 1)
		return apply_single_change(changes, first);
	err = apply_sdt_pokes(changes, first, nr);
	if (!err || err == -ENOMEM)
		return err;
	err = apply_most_sdt_pokes(changes, first, half);
	other = apply_most_sdt_pokes(changes, first + half, nr - half);
	return err ?: other;
}

/*
 * Drop the changes of sites that kprobes keep from being patched: each attempt would log a line,
 * and hot sites are tried every second.
 */
static int drop_probed_changes(struct changes *changes)
{
	bool *probed = kvcalloc(changes->nr, sizeof(*probed), GFP_KERNEL);
	unsigned int i, kept = 0;

	if (!probed)
		return -ENOMEM;
	for (i = 0; i < changes->nr; i++)
		make_sdt_poke(&changes->pokes[i], changes->list[i].site, changes->list[i].from,
			  changes->list[i].to);
	patcher_find_probed(changes->pokes, changes->nr, probed);
	for (i = 0; i < changes->nr; i++)
		if (!probed[i])
			changes->list[kept++] = changes->list[i];
	changes->nr = kept;
	kvfree(probed);
	return 0;
}

static int apply_changes(struct changes *changes)
{
	int err = changes->is_hot ? drop_probed_changes(changes) : 0;

	if (err || !changes->nr)
		return err;
	if (changes->is_hot || changes->to_off)
		return apply_most_sdt_pokes(changes, 0, changes->nr);
	return apply_sdt_pokes(changes, 0, changes->nr);
}

static int switch_sdt_sites(struct changes changes)
{
	int err = -ENOMEM;

	lockdep_assert_held(&sdt_registry.lock);
	collect_sdt_changes(&changes);
	if (!changes.nr)
		return 0;
	changes.list = kvcalloc(changes.nr, sizeof(*changes.list), GFP_KERNEL);
	changes.pokes = kvcalloc(changes.nr, sizeof(*changes.pokes), GFP_KERNEL);
	if (changes.list && changes.pokes) {
		collect_sdt_changes(&changes);
		err = apply_changes(&changes);
	}
	kvfree(changes.list);
	kvfree(changes.pokes);
	return err;
}

/**
 * sdt_switch_on() - enable every site that has handlers, in its wanted mode
 *
 * Context: may sleep; the registry's lock is held.
 * Return: 0, -ENOMEM, or an error of the patcher or of register_kprobe().  After an error, some
 * sites may have been switched; their state is up to date, and the next call switches the others.
 */
int sdt_switch_on(void)
{
	return switch_sdt_sites((struct changes){ }) ?:
	       switch_sdt_sites((struct changes){ .is_store = true }) ?: sdt_arm_notes();
}

/**
 * sdt_switch_hot() - switch enabled sites to jumps if promoted, else to breakpoints
 *
 * Sites that kprobes keep from being patched are left unchanged.
 *
 * Context: may sleep; the registry's lock is held.
 * Return: 0; -ENOMEM; or an error of the patcher for a site without a kprobe beside it.
 */
int sdt_switch_hot(void)
{
	int err, other;

	err = switch_sdt_sites((struct changes){ .is_hot = true });
	other = switch_sdt_sites((struct changes){ .is_hot = true, .is_store = true });
	return err ?: other;
}

/**
 * sdt_switch_off() - disable every site that has no handlers
 *
 * A site that a kprobe keeps from being disabled stays enabled; the next call tries again.
 *
 * Context: may sleep; the registry's lock is held.
 * Return: 0; -ENOMEM; or an error of the patcher for a site that could not be disabled and was not
 * stuck before.
 */
int sdt_switch_off(void)
{
	int err, other;

	/*
	 * Unregister the kprobes of notes first: a kprobe directly before a site keeps the site
	 * from being patched.
	 */
	sdt_disarm_notes();
	err = switch_sdt_sites((struct changes){ .to_off = true });
	other = switch_sdt_sites((struct changes){ .to_off = true, .is_store = true });
	return err ?: other;
}

/* Write nops to the branches of a new table, which were compiled as conditional jumps. */
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
		make_sdt_poke(poke, site, SDT_OFF, SDT_OFF);
		memcpy(poke->old, KMARKERS_BRANCH_COMPILED, KMARKERS_BRANCH_HEAD);
		nr++;
	}
	if (nr)
		err = patcher_apply_new(sites, pokes, nr);
	kvfree(pokes);
	return err;
}
