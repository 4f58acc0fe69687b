// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bringing the instructions of spots in line with what is to be done with their hits: a
 * nop, or a call of entry_call().  All that change are one batch of three rounds.
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
 * struct changes - spots that change together
 * @spots: each of them
 * @pokes: room for what the patcher is told
 * @nr: how many
 * @on: whether they are switched on
 */
struct changes {
	struct patcher_spot **spots;
	struct patcher_poke *pokes;
	unsigned int nr;
	bool on;
};

static void set_insn(u8 *insn, unsigned long addr, bool on)
{
	s32 distance = (unsigned long)entry_call - (addr + ENTRY_INSN_LEN);

	memcpy(insn, nop, ENTRY_INSN_LEN);
	if (!on)
		return;
	insn[0] = KMARKERS_CALL;
	memcpy(insn + 1, &distance, sizeof(distance));
}

static void make_poke(struct patcher_poke *poke, const struct patcher_spot *spot, bool on)
{
	unsigned long addr = patcher_spot_addr(spot);

	poke->addr = (u8 *)addr;
	poke->len = ENTRY_INSN_LEN;
	set_insn(poke->old, addr, !on);
	set_insn(poke->new, addr, on);
}

static bool is_change(const struct changes *changes, const struct patcher_spot *spot)
{
	return !(spot->data & ENTRY_ON) == changes->on && entry_is_wanted(spot) == changes->on;
}

static void collect(struct changes *changes)
{
	struct entry_table *table;
	struct patcher_spot *spot;
	unsigned int i;

	changes->nr = 0;
	entry_for_each_spot(spot, table, i) {
		if (!is_change(changes, spot))
			continue;
		if (changes->spots)
			changes->spots[changes->nr] = spot;
		changes->nr++;
	}
}

/* All of them or none. */
static int apply(const struct changes *changes, unsigned int first, unsigned int nr)
{
	unsigned int i;
	int err;

	for (i = 0; i < nr; i++)
		make_poke(&changes->pokes[i], changes->spots[first + i], changes->on);
	err = patcher_apply(entry_owner, changes->pokes, nr);
	for (i = 0; i < nr && !err; i++)
		entry_set(changes->spots[first + i], ENTRY_ON | ENTRY_STUCK,
			  changes->on ? ENTRY_ON : 0);
	return err;
}

/*
 * A batch of these failed: as many as can be, by halves of halves, since all but few can.
 * Those that cannot are stuck.  Return whether one is that was not before.
 */
static bool apply_most(const struct changes *changes, unsigned int first, unsigned int nr)
{
	unsigned int half = nr / 2;
	bool news = false;

	if (nr == 1) {
		news = !(changes->spots[first]->data & ENTRY_STUCK);
		entry_set(changes->spots[first], 0, ENTRY_STUCK);
		return news;
	}
	if (apply(changes, first, half))
		news = apply_most(changes, first, half);
	if (apply(changes, first + half, nr - half))
		news |= apply_most(changes, first + half, nr - half);
	return news;
}

static int switch_some(bool on)
{
	struct changes changes = { .on = on };
	int err = -ENOMEM;

	lockdep_assert_held(&entry_registry.lock);
	collect(&changes);
	if (!changes.nr)
		return 0;
	changes.spots = kvcalloc(changes.nr, sizeof(*changes.spots), GFP_KERNEL);
	changes.pokes = kvcalloc(changes.nr, sizeof(*changes.pokes), GFP_KERNEL);
	if (changes.spots && changes.pokes) {
		collect(&changes);
		err = apply(&changes, 0, changes.nr);
		if (err && err != -ENOMEM && !on)
			err = apply_most(&changes, 0, changes.nr) ? -EBUSY : 0;
	}
	kvfree(changes.spots);
	kvfree(changes.pokes);
	return err;
}

/**
 * entry_switch_on() - switch on every spot with whose hits something is to be done
 *
 * Context: may sleep; the registry's lock is held.
 * Return: 0, -ENOMEM or what patcher_apply() returns, with all spots as they were.
 */
int entry_switch_on(void)
{
	struct entry_table *table;
	struct patcher_spot *spot;
	unsigned int i;
	int err = switch_some(true);

	/* One that could not be switched off and is wanted again is as it should be. */
	entry_for_each_spot(spot, table, i)
		if (!err && spot->data & ENTRY_STUCK && entry_is_wanted(spot))
			entry_set(spot, ENTRY_STUCK, 0);
	return err;
}

/**
 * entry_switch_off() - switch off every other spot
 *
 * Context: may sleep; the registry's lock is held.
 * Return: 0; -ENOMEM with all spots as they were; -EBUSY if one could not be switched
 * off, unless the same was so the last time.
 */
int entry_switch_off(void)
{
	return switch_some(false);
}

/* Is any spot on? */
bool entry_any_is_on(void)
{
	struct entry_table *table;
	struct patcher_spot *spot;
	unsigned int i;

	lockdep_assert_held(&entry_registry.lock);
	entry_for_each_spot(spot, table, i)
		if (spot->data & ENTRY_ON)
			return true;
	return false;
}
