// SPDX-License-Identifier: GPL-2.0-only
/*
 * Find the copies that the compiler made of sites, and the site that each jump target belongs to.
 *
 * The target of a site is the code that the site's jump leads to.  A compiler may duplicate a site
 * together with its target, or the site alone, as gcc -ftracer does.  The compiler may also merge
 * duplicates of a target.  All duplicates of a site and of its target refer to the same struct
 * sdt_origin.  If the jump of every site of an origin lands on the first byte of some target, sites
 * with the same target are copies of one site.  Otherwise (the compiler may put an instruction in
 * front of a target), it is unknown which target a jump reaches: all sites of the origin in one
 * function are treated as copies of one site.
 */
#include <linux/errno.h>
#include <linux/jhash.h>
#include <linux/lockdep.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>

#include <kmarkers/branch.h>

#include "copies.h"
#include "pattern.h"
#include "registry.h"
#include "symbol.h"

/**
 * struct jump_end - one end of a jump: a site or a target
 * @origin: address of the struct sdt_origin that the site or target refers to
 * @function: hash of the function's name if ends are grouped by function; else 0
 * @addr: address of the target or, for a site, the address to which the jump of the site leads; 0
 *	if ends are grouped by function
 * @state: state of the site; NULL for a target
 * @target: the target; NULL for a site
 */
struct jump_end {
	unsigned long origin;
	u32 function;
	unsigned long addr;
	struct sdt_state *state;
	struct sdt_target *target;
};

static int compare_numbers(unsigned long x, unsigned long y)
{
	return x < y ? -1 : x > y;
}

/*
 * Order jump ends by group. Within a group, sites precede targets, and sites are ordered by
 * address.
 */
static int compare_jump_ends(const void *a, const void *b)
{
	const struct jump_end *x = a, *y = b;

	return compare_numbers(x->origin, y->origin) ?:
	       compare_numbers(x->function, y->function) ?:
	       compare_numbers(x->addr, y->addr) ?: compare_numbers(!x->state, !y->state) ?:
	       compare_numbers((unsigned long)x->state, (unsigned long)y->state);
}

/* True if two jump ends are in the same group, so that they belong to copies of one site. */
static bool are_ends_of_same_site(const struct jump_end *x, const struct jump_end *y)
{
	return x->origin == y->origin && x->function == y->function && x->addr == y->addr;
}

/*
 * Return the address to which the jump of a site leads.  If an endbr64 is there, return the address
 * behind the endbr64.
 */
static unsigned long find_jump_target(const struct patcher_site *site)
{
	const u8 *insn = (const u8 *)patcher_site_addr(site);
	unsigned long addr;

	/* Not a branch: sdt_write_initial_nops() will refuse the table as malformed. */
	if (!kmarkers_is_branch(insn))
		return 0;
	addr = kmarkers_get_branch_target(insn);
	return memcmp((const void *)addr, "\xf3\x0f\x1e\xfa", 4) ? addr : addr + 4;
}

static unsigned long get_target_addr(const struct sdt_target *target)
{
	return (unsigned long)&target->addr + target->addr;
}

static unsigned int collect_jump_ends(struct sdt_table *table, struct jump_end *ends)
{
	unsigned int i, nr = 0;

	for (i = 0; i < table->sites.nr; i++)
		if (sdt_is_branch(sdt_get_site(table, i)))
			ends[nr++] = (struct jump_end) {
				.origin = patcher_site_key(sdt_get_site(table, i)),
				.addr = find_jump_target(sdt_get_site(table, i)),
				.state = &table->states[i],
			};
	for (i = 0; i < table->nr_targets; i++) {
		struct sdt_target *target = &table->targets[i];

		ends[nr++] = (struct jump_end) {
			.origin = (unsigned long)&target->origin + target->origin,
			.addr = get_target_addr(target),
			.target = target,
		};
	}
	return nr;
}

/* True if the jump of every site of an origin lands on the first byte of some target. */
static bool all_jumps_reach_targets(const struct jump_end *ends, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (ends[i].state && (i + 1 == nr || ends[i + 1].addr != ends[i].addr))
			return false;
	return true;
}

static u32 hash_function_name(const struct jump_end *end)
{
	unsigned long addr = end->target ? get_target_addr(end->target) :
					   patcher_site_addr(end->state->site);
	char name[SDT_MAX_FUNCTION];

	sdt_find_function_name(addr, name, sizeof(name));
	return jhash(name, strlen(name), 0);
}

/* True if a function has a target but no site: then the module lacks symbols. */
static bool has_target_without_site(const struct jump_end *ends, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (!ends[i].state && (!i || ends[i - 1].function != ends[i].function))
			return true;
	return false;
}

/* Group the jump ends of an origin by function, or make one group if symbols are missing. */
static void group_jump_ends_by_function(struct jump_end *ends, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		ends[i].function = hash_function_name(&ends[i]);
		ends[i].addr = 0;
	}
	sort(ends, nr, sizeof(*ends), compare_jump_ends, NULL);
	if (!has_target_without_site(ends, nr))
		return;
	for (i = 0; i < nr; i++)
		ends[i].function = 0;
	sort(ends, nr, sizeof(*ends), compare_jump_ends, NULL);
}

/*
 * Group the jump ends of each origin by address, or by function if one of the origin's jumps does
 * not land on a target.
 */
static void group_jump_ends(struct jump_end *ends, unsigned int nr)
{
	unsigned int first, i;

	for (first = 0; first < nr; first = i) {
		for (i = first + 1; i < nr && ends[i].origin == ends[first].origin; i++)
			;
		if (!all_jumps_reach_targets(ends + first, i - first))
			group_jump_ends_by_function(ends + first, i - first);
	}
}

/* Link the copies of a site in a ring. Make the targets of all copies refer to the first copy. */
static void link_copies_of_site(const struct jump_end *ends, unsigned int nr)
{
	struct sdt_state *first = ends->state, *last = first;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (ends[i].state) {
			ends[i].state->to_first = first - ends[i].state;
			last->to_next = ends[i].state - last;
			last = ends[i].state;
		} else {
			/* Pairs with rcu_dereference_raw() in call_site_handlers(). */
			rcu_assign_pointer(ends[i].target->state, first);
		}
	}
	if (last)
		last->to_next = first - last;
}

/**
 * sdt_link_site_copies() - link the copies of each site, and connect jump targets to sites
 * @table: the table; its sites are sorted and do not change any more
 *
 * Context: may sleep; the registry's lock is held.
 * Return: 0 or -ENOMEM.
 */
int sdt_link_site_copies(struct sdt_table *table)
{
	unsigned int first, i, nr;
	struct jump_end *ends;

	lockdep_assert_held(&sdt_registry.lock);
	ends = kvcalloc(table->sites.nr + table->nr_targets, sizeof(*ends), GFP_KERNEL);
	if (!ends)
		return -ENOMEM;
	nr = collect_jump_ends(table, ends);
	sort(ends, nr, sizeof(*ends), compare_jump_ends, NULL);
	group_jump_ends(ends, nr);
	for (first = 0; first < nr; first = i) {
		for (i = first + 1; i < nr && are_ends_of_same_site(&ends[first], &ends[i]); i++)
			;
		link_copies_of_site(ends + first, i - first);
	}
	kvfree(ends);
	return 0;
}

/*
 * Set the sites of all jump targets to NULL.  Hits that are running may use the sites until a grace
 * period ends.
 */
void sdt_clear_sites_of_jump_targets(struct sdt_table *table)
{
	unsigned int i;

	for (i = 0; i < table->nr_targets; i++)
		rcu_assign_pointer(table->targets[i].state, NULL);
}
