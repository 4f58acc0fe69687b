// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sets of handlers.  Sites with the same handlers share a set, so that a pattern that matches ten
 * thousand sites needs only one or two sets.  Sets are changed under the registry's lock; hits
 * read them without the lock.
 *
 * Attaching a handler takes three steps.  First, the caller calls sdt_add_handler_to_site() for
 * each site.  The first call for a set copies the set and adds the handler to the copy; all further
 * sites of the set get the same copy.  Second, the caller enables the sites; if that fails, the
 * caller calls sdt_revert_handler_set() for each site.  Third, the caller calls
 * sdt_commit_handler_sets().
 */
#include <linux/errno.h>
#include <linux/lockdep.h>
#include <linux/slab.h>

#include "hit.h"
#include "registry.h"
#include "sets.h"

static LIST_HEAD(sets);

/*
 * While a handler is being attached: the new set of each site that had no set before.  Otherwise
 * NULL.
 */
static struct sdt_set *grown_from_none;

/* The function that replaces a removed handler in a set. */
static void do_nothing_on_hit(void *private, const struct sdt_hit *hit)
{
}

const struct sdt_call sdt_no_handlers = { .handler = do_nothing_on_hit };

static void append_handler_to_set(struct sdt_set *set, const struct sdt_call *call)
{
	set->call[set->nr++] = *call;
	set->live++;
}

/* Return a copy of a set, without its removed handlers and with one more handler. */
static struct sdt_set *copy_set_with_handler(struct sdt_set *from, const struct sdt_call *call)
{
	/* The array ends with a handler whose function is NULL. */
	unsigned int i, nr = sdt_count_live_handlers(from) + 2;
	struct sdt_set *set = kzalloc(sizeof(*set) + nr * sizeof(set->call[0]), GFP_KERNEL);

	if (!set)
		return NULL;
	for (i = 0; from && i < from->nr; i++)
		if (from->call[i].handler != do_nothing_on_hit)
			append_handler_to_set(set, &from->call[i]);
	append_handler_to_set(set, call);
	set->all = (struct sdt_call){ sdt_call_all_handlers, set->call };
	set->from = from;
	list_add_tail(&set->node, &sets);
	return set;
}

/*
 * Return the handler that a hit of a site calls: the only handler of @set, or a handler that calls
 * all handlers of @set.
 */
static const struct sdt_call *choose_called_handler(const struct sdt_set *set)
{
	const struct sdt_call *call = set->call;

	if (set->live != 1)
		return &set->all;
	while (call->handler == do_nothing_on_hit)
		call++;
	return call;
}

/*
 * Replace the handler set of a site by @set, or remove the handler set if @set is NULL. Update the
 * handler that a hit calls, even if the site has @set already: handlers of @set may have been
 * removed.
 */
void sdt_assign_handler_set(struct sdt_state *state, struct sdt_set *set)
{
	struct sdt_set *old = sdt_get_handler_set(state);

	lockdep_assert_held(&sdt_registry.lock);
	if (old)
		old->users--;
	if (set)
		set->users++;
	state->set = set;
	rcu_assign_pointer(state->call, set ? choose_called_handler(set) : &sdt_no_handlers);
}

/* Add a handler to a site. Return 0 or -ENOMEM; sdt_revert_handler_set() undoes this. */
int sdt_add_handler_to_site(struct sdt_state *state, const struct sdt_call *call)
{
	struct sdt_set *old = sdt_get_handler_set(state);
	struct sdt_set **grown = old ? &old->grown : &grown_from_none;

	lockdep_assert_held(&sdt_registry.lock);
	if (!*grown)
		*grown = copy_set_with_handler(old, call);
	if (!*grown)
		return -ENOMEM;
	sdt_assign_handler_set(state, *grown);
	state->is_stuck = false;
	return 0;
}

/* Undo sdt_add_handler_to_site() for a site, if the site got a set since the last commit. */
void sdt_revert_handler_set(struct sdt_state *state)
{
	struct sdt_set *set = sdt_get_handler_set(state);

	if (!set)
		return;
	if (set == grown_from_none || set->from)
		sdt_assign_handler_set(state, set->from);
}

/* Make the new sets of all sites permanent, and free the sets that no site uses any more. */
void sdt_commit_handler_sets(void)
{
	struct sdt_set *set, *next;

	lockdep_assert_held(&sdt_registry.lock);
	grown_from_none = NULL;
	list_for_each_entry_safe(set, next, &sets, node) {
		set->grown = NULL;
		set->from = NULL;
		if (set->users)
			continue;
		list_del(&set->node);
		kfree_rcu(set, rcu);
	}
}

/* In every set, replace the handler of an attachment by a function that does nothing. */
void sdt_remove_handler_from_sets(const void *attachment)
{
	struct sdt_set *set;
	unsigned int i;

	lockdep_assert_held(&sdt_registry.lock);
	list_for_each_entry(set, &sets, node) {
		for (i = 0; i < set->nr; i++) {
			if (set->call[i].attachment != attachment ||
			    set->call[i].handler == do_nothing_on_hit)
				continue;
			WRITE_ONCE(set->call[i].handler, do_nothing_on_hit);
			set->live--;
		}
	}
}
