// SPDX-License-Identifier: GPL-2.0-only
/*
 * Enable each site that has handlers, and disable each site that has no handler.  Promote sites,
 * from a breakpoint to a jump, and demote them, from a jump to a breakpoint.
 *
 * Changes of a single byte, to or from a breakpoint, are applied in one batch of the patcher, with
 * one round of synchronisation.  All other changes are applied in another batch, with three rounds.
 * Sites are disabled in batches of their own, so that a site that cannot be disabled does not keep
 * other sites from being enabled.  Promotions and demotions, which depend on how often a site is
 * hit, have batches of their own, too.  The patcher changes no site whose flavour is "note",
 * because such a site has no instruction of its own: a kprobe arms the site.
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
 * First bytes of a disabled site that a breakpoint can arm.  As in KMARKERS_BRANCH_OFF, these bytes
 * begin a nop whose last four bytes are the displacement of the jump.  The kernel may decode the
 * function while a breakpoint replaces the byte 0f.  Behind the breakpoint, the kernel then finds
 * two instructions: 1f, and a9 with four bytes.  The second instruction ends where the nop ends, so
 * the instruction after the nop is found.
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
 * struct changes - changes that are applied in one batch, and flags that select them
 * @list: array of the changes
 * @pokes: array with a patcher_poke for each change
 * @stuck: for each change, true if it could not be applied
 * @nr: number of changes
 * @to_off: true if the changes disable sites; false if they enable, promote or demote sites
 * @is_store: true if each change stores a single byte, false if each change stores several bytes
 * @is_hot: true to include only changes of enabled sites, between breakpoint and jump
 */
struct changes {
	struct change *list;
	struct patcher_poke *pokes;
	bool *stuck;
	unsigned int nr;
	bool to_off;
	bool is_store;
	bool is_hot;
};

/* Return the mode that a site should have. */
static enum sdt_mode choose_site_mode(const struct patcher_site *site,
				      const struct sdt_state *state)
{
	if (!sdt_count_live_handlers(sdt_get_handler_set(state)))
		return SDT_OFF;
	return sdt_get_flavour(site) == SDT_JUMP || state->promoted ? SDT_CALLED : SDT_TRAPPED;
}

/*
 * Set the first bytes of a site's instruction for a mode. The displacement of the jump, in the last
 * bytes, never changes.
 */
static void make_sdt_insn(u8 *insn, const struct patcher_site *site, enum sdt_mode mode)
{
	if (mode == SDT_TRAPPED)
		insn[0] = KMARKERS_INT3;
	else if (mode == SDT_OFF && sdt_get_flavour(site) == SDT_BREAKPOINT)
		memcpy(insn, TRAPPABLE_OFF, KMARKERS_BRANCH_HEAD);
	else if (sdt_is_branch(site))
		kmarkers_switch_branch(insn, mode == SDT_CALLED);
	else
		insn[0] = sdt_get_flavour(site) == SDT_NOP ? 0x90 : 0x0f;
}

/*
 * Fill in @poke with the bytes of a site's instruction in the modes @from and @to. Return true if
 * the change stores only the first byte, to set or remove a breakpoint. The patcher checks the old
 * bytes.
 */
static bool make_sdt_poke(struct patcher_poke *poke, const struct patcher_site *site,
			  enum sdt_mode from, enum sdt_mode to)
{
	poke->addr = (u8 *)patcher_site_addr(site);
	poke->len = site->len;
	memcpy(poke->old, poke->addr, site->len);
	make_sdt_insn(poke->old, site, from);
	memcpy(poke->new, poke->old, site->len);
	make_sdt_insn(poke->new, site, to);
	/*
	 * If the breakpoint replaces the first byte of a jump, a change to the nop also writes
	 * other bytes.
	 */
	return (from == SDT_TRAPPED || to == SDT_TRAPPED) &&
	       !memcmp(poke->old + 1, poke->new + 1, site->len - 1);
}

/* Fill in @change for a site. True if @change is needed and selected by the flags of @changes. */
static bool needs_sdt_change(struct change *change, const struct changes *changes,
			     const struct patcher_site *site, struct sdt_state *state)
{
	struct patcher_poke poke;

	change->site = site;
	change->state = state;
	change->from = state->mode;
	change->to = choose_site_mode(site, state);
	if (changes->is_hot && change->from == SDT_OFF)
		return false;
	return change->from != change->to && (change->to == SDT_OFF) == changes->to_off &&
	       make_sdt_poke(&poke, site, change->from, change->to) == changes->is_store;
}

/* Collect all changes that the flags of @changes select.  If the list is NULL, only count them. */
static void collect_sdt_changes(struct changes *changes)
{
	struct sdt_table *table;
	struct sdt_state *state;
	struct change change;
	unsigned int i;

	changes->nr = 0;
	sdt_for_each_state(state, table, i) {
		if (table->notes ||
		    !needs_sdt_change(&change, changes, sdt_get_site(table, i), state))
			continue;
		if (changes->list)
			changes->list[changes->nr] = change;
		changes->nr++;
	}
}

/* Set the mode of each site whose instruction was written; restore the modes of all other sites. */
static void update_site_modes(const struct changes *changes)
{
	unsigned int i;

	for (i = 0; i < changes->nr; i++)
		WRITE_ONCE(changes->list[i].state->mode, changes->stuck[i] ?
			   changes->list[i].from : changes->list[i].to);
}

/*
 * Fill in the poke of each change. The mode of a site must be SDT_TRAPPED while any CPU can hit a
 * breakpoint at the site, so this mode is set before a breakpoint is written.
 */
static void prepare_site_changes(const struct changes *changes)
{
	unsigned int i;

	for (i = 0; i < changes->nr; i++) {
		const struct change *change = &changes->list[i];

		make_sdt_poke(&changes->pokes[i], change->site, change->from, change->to);
		if (change->to == SDT_TRAPPED)
			WRITE_ONCE(change->state->mode, SDT_TRAPPED);
	}
}

/*
 * Mark the sites that could not be disabled as stuck. If one of these sites was not stuck before,
 * return the patcher's error @err, else 0.
 */
static int mark_stuck_sites(const struct changes *changes, int err)
{
	bool newly_stuck = false;
	unsigned int i;

	for (i = 0; i < changes->nr; i++) {
		struct sdt_state *state = changes->list[i].state;

		newly_stuck |= changes->stuck[i] && !state->is_stuck;
		state->is_stuck = changes->stuck[i];
	}
	return newly_stuck ? err : 0;
}

/*
 * Drop the changes of sites that cannot be patched because of kprobes. Each attempt to patch a site
 * that has a kprobe would log a line, and there is an attempt for each hot site every second.
 */
static void drop_changes_of_probed_sites(struct changes *changes)
{
	unsigned int i, kept = 0;

	for (i = 0; i < changes->nr; i++)
		make_sdt_poke(&changes->pokes[i], changes->list[i].site, changes->list[i].from,
			      changes->list[i].to);
	patcher_find_probed_pokes(changes->pokes, changes->nr, changes->stuck);
	for (i = 0; i < changes->nr; i++)
		if (!changes->stuck[i])
			changes->list[kept++] = changes->list[i];
	memset(changes->stuck, 0, changes->nr * sizeof(*changes->stuck));
	changes->nr = kept;
}

/* Apply @changes: as many as possible if @to_off or @is_hot is set, else all or none. */
static int apply_site_changes(struct changes *changes)
{
	patcher_apply_function *apply = changes->is_store ? patcher_store_traps : patcher_apply;
	bool is_all = !changes->is_hot && !changes->to_off;
	int err;

	if (changes->is_hot)
		drop_changes_of_probed_sites(changes);
	if (!changes->nr)
		return 0;
	prepare_site_changes(changes);
	err = is_all ? apply(sdt_owner, changes->pokes, changes->nr) :
		       patcher_apply_most(apply, sdt_owner, changes->pokes, changes->nr,
					  changes->stuck);
	if (is_all || err == -ENOMEM)
		memset(changes->stuck, err != 0, changes->nr * sizeof(*changes->stuck));
	update_site_modes(changes);
	return changes->to_off && err != -ENOMEM ? mark_stuck_sites(changes, err) : err;
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
	changes.stuck = kvcalloc(changes.nr, sizeof(*changes.stuck), GFP_KERNEL);
	if (changes.list && changes.pokes && changes.stuck) {
		collect_sdt_changes(&changes);
		err = apply_site_changes(&changes);
	}
	kvfree(changes.list);
	kvfree(changes.pokes);
	kvfree(changes.stuck);
	return err;
}

/**
 * sdt_enable_sites_with_handlers() - enable all sites that have handlers, and apply promotions
 *
 * Context: may sleep; the registry's lock is held.
 * Return: 0, -ENOMEM, or an error of the patcher or of register_kprobe().  After an error, some
 * sites may have been switched; the next call switches the other sites.
 */
int sdt_enable_sites_with_handlers(void)
{
	return switch_sdt_sites((struct changes){ }) ?:
	       switch_sdt_sites((struct changes){ .is_store = true }) ?: sdt_arm_notes();
}

/**
 * sdt_switch_promoted_sites() - switch enabled sites to jumps if promoted, else to breakpoints
 *
 * Sites that cannot be patched because of kprobes are left unchanged.
 *
 * Context: may sleep; the registry's lock is held.
 * Return: 0; -ENOMEM; or an error of the patcher for a site without a kprobe beside it.
 */
int sdt_switch_promoted_sites(void)
{
	int err, other;

	err = switch_sdt_sites((struct changes){ .is_hot = true });
	other = switch_sdt_sites((struct changes){ .is_hot = true, .is_store = true });
	return err ?: other;
}

/**
 * sdt_disable_sites_without_handlers() - disable every site that has no handlers
 *
 * A site that cannot be disabled because of a kprobe stays enabled; the next call tries again.
 *
 * Context: may sleep; the registry's lock is held.
 * Return: 0; -ENOMEM; or an error of the patcher for a site that could not be disabled and was not
 * stuck before.
 */
int sdt_disable_sites_without_handlers(void)
{
	int err, other;

	/*
	 * Unregister the kprobes of SDT notes first: a kprobe directly before a site keeps the site
	 * from being patched.
	 */
	sdt_disarm_notes();
	err = switch_sdt_sites((struct changes){ .to_off = true });
	other = switch_sdt_sites((struct changes){ .to_off = true, .is_store = true });
	return err ?: other;
}

/* Write nops to the branches of a new table, which were compiled as conditional jumps. */
int sdt_write_initial_nops(const struct patcher_table *sites)
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
		err = patcher_apply_at_load(sites, pokes, nr);
	kvfree(pokes);
	return err;
}
