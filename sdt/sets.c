// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sets of handlers.  Sites that have the same handlers share a set, so that a
 * pattern of ten thousand sites needs one or two of them.  Whoever changes one holds
 * the registry's lock; hits read them.
 *
 * Attaching a handler takes three steps: sdt_sets_grow() for each of its sites, which makes one new
 * set of each that the sites had; then the sites are switched; then sdt_sets_keep(), or
 * sdt_sets_shrink() for each site if that failed.
 */
#include <linux/errno.h>
#include <linux/lockdep.h>
#include <linux/slab.h>

#include "registry.h"
#include "sets.h"

static LIST_HEAD(sets);

/* The new set of sites that had none before. */
static struct sdt_set *grown_of_none;

static void nothing(void *private, const struct sdt_hit *hit)
{
}

static void append_call(struct sdt_set *set, const struct sdt_call *call)
{
	set->call[set->nr++] = *call;
	set->live++;
}

/* Return a copy of a set without removed handlers, with one more handler. */
static struct sdt_set *make_set(struct sdt_set *from, const struct sdt_call *call)
{
	unsigned int i, nr = sdt_live(from) + 1;
	struct sdt_set *set = kzalloc(sizeof(*set) + nr * sizeof(set->call[0]), GFP_KERNEL);

	if (!set)
		return NULL;
	for (i = 0; from && i < from->nr; i++)
		if (from->call[i].handler != nothing)
			append_call(set, &from->call[i]);
	append_call(set, call);
	set->from = from;
	list_add_tail(&set->node, &sets);
	return set;
}

/* Replace the set of a site; @set may be NULL. */
void sdt_sets_use(struct sdt_state *state, struct sdt_set *set)
{
	struct sdt_set *old = sdt_set_of(state);

	lockdep_assert_held(&sdt_registry.lock);
	if (old)
		old->users--;
	if (set)
		set->users++;
	rcu_assign_pointer(state->set, set);
}

/* Add a handler to a site. Return 0 or -ENOMEM; sdt_sets_shrink() undoes it. */
int sdt_sets_grow(struct sdt_state *state, const struct sdt_call *call)
{
	struct sdt_set *old = sdt_set_of(state), **grown = old ? &old->grown : &grown_of_none;

	lockdep_assert_held(&sdt_registry.lock);
	if (!*grown)
		*grown = make_set(old, call);
	if (!*grown)
		return -ENOMEM;
	sdt_sets_use(state, *grown);
	state->is_stuck = false;
	return 0;
}

/* Undo sdt_sets_grow() for a site, if it was done. */
void sdt_sets_shrink(struct sdt_state *state)
{
	struct sdt_set *set = sdt_set_of(state);

	if (!set)
		return;
	if (set == grown_of_none || (set->from && set->from->grown == set))
		sdt_sets_use(state, set->from);
}

/* Commit the new sets, and free sets that no site uses. */
void sdt_sets_keep(void)
{
	struct sdt_set *set, *next;

	lockdep_assert_held(&sdt_registry.lock);
	grown_of_none = NULL;
	list_for_each_entry_safe(set, next, &sets, node) {
		set->grown = NULL;
		set->from = NULL;
		if (set->users)
			continue;
		list_del(&set->node);
		kfree_rcu(set, rcu);
	}
}

/* Remove a handler from every set. */
void sdt_sets_take_out(const void *of)
{
	struct sdt_set *set;
	unsigned int i;

	lockdep_assert_held(&sdt_registry.lock);
	list_for_each_entry(set, &sets, node) {
		for (i = 0; i < set->nr; i++) {
			if (set->call[i].of != of || set->call[i].handler == nothing)
				continue;
			WRITE_ONCE(set->call[i].handler, nothing);
			set->live--;
		}
	}
}
