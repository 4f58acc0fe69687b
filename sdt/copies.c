// SPDX-License-Identifier: GPL-2.0-only
/*
 * Find copies of sites that the compiler made, and the site that each jump target belongs to.
 *
 * A compiler may copy a site together with the code that its jump leads to, the target; or
 * the site alone, as gcc -ftracer does; and it may merge copies of a target.  All these have
 * the same origin.  If each jump of an origin leads exactly to a target, each target is that
 * of one site, and sites with the same target are copies of it.  If there is an instruction
 * between, it is not known which target a jump reaches: then all sites of the origin in a
 * function are copies of one site.
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
 * struct end - either end of a jump
 * @origin: address of its struct sdt_origin
 * @function: hash of the name of the function it is in, if that decides; else 0
 * @addr: of the target, or where the jump leads to, if that decides; else 0
 * @state: of the site, or NULL
 * @target: the target, or NULL
 */
struct end {
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

/* Ends of one site lie side by side: first its copies in the order of addresses. */
static int compare_ends(const void *a, const void *b)
{
	const struct end *x = a, *y = b;

	return compare_numbers(x->origin, y->origin) ?:
	       compare_numbers(x->function, y->function) ?:
	       compare_numbers(x->addr, y->addr) ?: compare_numbers(!x->state, !y->state) ?:
	       compare_numbers((unsigned long)x->state, (unsigned long)y->state);
}

static bool is_same_site(const struct end *x, const struct end *y)
{
	return x->origin == y->origin && x->function == y->function && x->addr == y->addr;
}

/* A label whose address is taken may have an endbr64 in front of what is done there. */
static unsigned long target_of(const struct patcher_site *site)
{
	const u8 *insn = (const u8 *)patcher_site_addr(site);
	unsigned long addr;

	/* An invalid site is refused later. */
	if (!kmarkers_is_branch(insn))
		return 0;
	addr = kmarkers_branch_target(insn);
	return memcmp((const void *)addr, "\xf3\x0f\x1e\xfa", 4) ? addr : addr + 4;
}

static unsigned long target_addr(const struct sdt_target *target)
{
	return (unsigned long)&target->addr + target->addr;
}

static unsigned int collect_ends(struct sdt_table *table, struct end *ends)
{
	unsigned int i, nr = 0;

	for (i = 0; i < table->sites.nr; i++)
		if (sdt_is_branch(sdt_site(table, i)))
			ends[nr++] = (struct end) {
				.origin = patcher_site_key(sdt_site(table, i)),
				.addr = target_of(sdt_site(table, i)),
				.state = &table->states[i],
			};
	for (i = 0; i < table->nr_targets; i++) {
		struct sdt_target *target = &table->targets[i];

		ends[nr++] = (struct end) {
			.origin = (unsigned long)&target->origin + target->origin,
			.addr = target_addr(target),
			.target = target,
		};
	}
	return nr;
}

/* Does each jump of an origin lead to a target? */
static bool is_exact(const struct end *ends, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (ends[i].state && (i + 1 == nr || ends[i + 1].addr != ends[i].addr))
			return false;
	return true;
}

static u32 hash_function(const struct end *end)
{
	unsigned long addr = end->target ? target_addr(end->target) :
					   patcher_site_addr(end->state->site);
	char name[SDT_MAX_FUNCTION];

	sdt_find_function(addr, name, sizeof(name));
	return jhash(name, strlen(name), 0);
}

/* Is there a target of a function in which no site is known?  The symbols are not all there. */
static bool lacks_sites(const struct end *ends, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (!ends[i].state && (!i || ends[i - 1].function != ends[i].function))
			return true;
	return false;
}

/* Let the function decide for the ends of an origin, or if it cannot the origin alone. */
static void decide_by_function(struct end *ends, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		ends[i].function = hash_function(&ends[i]);
		ends[i].addr = 0;
	}
	sort(ends, nr, sizeof(*ends), compare_ends, NULL);
	if (!lacks_sites(ends, nr))
		return;
	for (i = 0; i < nr; i++)
		ends[i].function = 0;
	sort(ends, nr, sizeof(*ends), compare_ends, NULL);
}

static void decide(struct end *ends, unsigned int nr)
{
	unsigned int first, i;

	for (first = 0; first < nr; first = i) {
		for (i = first + 1; i < nr && ends[i].origin == ends[first].origin; i++)
			;
		if (!is_exact(ends + first, i - first))
			decide_by_function(ends + first, i - first);
	}
}

/* The ends of one site: its copies become a ring, and its targets lead to the first of them. */
static void join_site(const struct end *ends, unsigned int nr)
{
	struct sdt_state *first = ends->state, *last = first;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (ends[i].state) {
			ends[i].state->to_first = first - ends[i].state;
			last->to_next = ends[i].state - last;
			last = ends[i].state;
		} else {
			/* Pairs with rcu_dereference_raw() in sdt_fire(). */
			rcu_assign_pointer(ends[i].target->state, first);
		}
	}
	if (last)
		last->to_next = first - last;
}

/**
 * sdt_join_copies() - join copies of each site, and connect targets to sites
 * @table: the table, which has been sorted and stays as it is from now on
 *
 * Context: may sleep; the registry's lock is held.
 * Return: 0 or -ENOMEM.
 */
int sdt_join_copies(struct sdt_table *table)
{
	unsigned int first, i, nr;
	struct end *ends;

	lockdep_assert_held(&sdt_registry.lock);
	for (i = 0; i < table->sites.nr; i++)
		table->states[i].site = sdt_site(table, i);
	ends = kvcalloc(table->sites.nr + table->nr_targets, sizeof(*ends), GFP_KERNEL);
	if (!ends)
		return -ENOMEM;
	nr = collect_ends(table, ends);
	sort(ends, nr, sizeof(*ends), compare_ends, NULL);
	decide(ends, nr);
	for (first = 0; first < nr; first = i) {
		for (i = first + 1; i < nr && is_same_site(&ends[first], &ends[i]); i++)
			;
		join_site(ends + first, i - first);
	}
	kvfree(ends);
	return 0;
}

/* Disconnect targets from their sites. Hits may still run until a grace period has ended. */
void sdt_forget_targets(struct sdt_table *table)
{
	unsigned int i;

	for (i = 0; i < table->nr_targets; i++)
		rcu_assign_pointer(table->targets[i].state, NULL);
}
