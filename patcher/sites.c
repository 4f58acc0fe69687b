// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tables of sites.  The patcher's lock serialises writers.  Readers are the writers
 * themselves and the breakpoint handler, which runs with interrupts off, so that
 * synchronize_rcu() waits for it.
 */
#include <linux/errno.h>
#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/rculist.h>
#include <linux/sort.h>
#include <linux/types.h>

#include <kmarkers/search.h>

#include "../base/lock.h"
#include "sites.h"

static LIST_HEAD(tables);

static int compare_sites(const void *a, const void *b)
{
	unsigned long x = patcher_site_addr(a), y = patcher_site_addr(b);

	return x < y ? -1 : x > y;
}

/* Swap two records.  A record holds offsets relative to itself, which change when it moves. */
static void swap_sites(void *a, void *b, int size)
{
	struct patcher_site *x = a, *y = b, tmp = *x;
	s32 distance = (long)y - (long)x;

	*x = *y;
	x->addr += distance;
	x->key += distance;
	*y = tmp;
	y->addr -= distance;
	y->key -= distance;
}

static __always_inline unsigned long addr_of_site(const void *sites, unsigned int i)
{
	return patcher_site_addr((const struct patcher_site *)sites + i);
}

/* Does an instruction overlap a site of a table? */
static bool overlaps_site(const struct patcher_table *table, unsigned long addr, unsigned int len)
{
	/* Compare with the first site that begins at @addr or behind, and the site before it. */
	unsigned int i = kmarkers_lower_bound(table->sites, table->nr, addr, addr_of_site);

	if (i < table->nr && patcher_site_addr(&table->sites[i]) < addr + len)
		return true;
	return i && patcher_site_addr(&table->sites[i - 1]) + table->sites[i - 1].len > addr;
}

static bool overlaps_other_table(const struct patcher_table *table)
{
	const struct patcher_table *other;
	unsigned int i;

	list_for_each_entry(other, &tables, node) {
		if (table->start >= other->end || other->start >= table->end)
			continue;
		for (i = 0; i < table->nr; i++)
			if (overlaps_site(other, patcher_site_addr(&table->sites[i]),
					  table->sites[i].len))
				return true;
	}
	return false;
}

/**
 * patcher_sites_add() - sort and check a table, and publish it to the handler
 * @table: the table; its records are moved
 *
 * Return: 0, -EINVAL if two of its sites overlap, -EBUSY if one overlaps a site
 * of another table.
 */
int patcher_sites_add(struct patcher_table *table)
{
	struct patcher_site *sites = table->sites;
	unsigned int i;

	patcher_assert_locked();
	if (!table->nr)
		return -EINVAL;
	sort(sites, table->nr, sizeof(*sites), compare_sites, swap_sites);
	for (i = 1; i < table->nr; i++)
		if (patcher_site_addr(&sites[i - 1]) + sites[i - 1].len >
		    patcher_site_addr(&sites[i]))
			return -EINVAL;
	table->start = patcher_site_addr(&sites[0]);
	table->end = patcher_site_addr(&sites[table->nr - 1]) + sites[table->nr - 1].len;
	if (overlaps_other_table(table))
		return -EBUSY;
	list_add_rcu(&table->node, &tables);
	return 0;
}

/* Unlink a table.  The caller waits for an RCU grace period before it frees the table. */
void patcher_sites_del(struct patcher_table *table)
{
	patcher_assert_locked();
	list_del_rcu(&table->node);
}

/* Is a table registered?  Only its address is used, not its contents. */
bool patcher_sites_has(const struct patcher_table *table)
{
	const struct patcher_table *other;

	patcher_assert_locked();
	list_for_each_entry(other, &tables, node)
		if (other == table)
			return true;
	return false;
}

static const struct patcher_site *search_table(const struct patcher_table *table,
					       unsigned long addr)
{
	unsigned int i = kmarkers_lower_bound(table->sites, table->nr, addr, addr_of_site);

	return i < table->nr && patcher_site_addr(&table->sites[i]) == addr ? &table->sites[i] :
	       NULL;
}
NOKPROBE_SYMBOL(search_table);

/**
 * patcher_sites_find() - find the site at an address
 * @addr: address of the site's first byte
 * @found: set to the site's table, if not NULL
 *
 * Context: any, NMI included, if preemption is off or patcher_lock() is held.
 * Return: the site or NULL.
 */
const struct patcher_site *patcher_sites_find(unsigned long addr,
					      const struct patcher_table **found)
{
	const struct patcher_site *site;
	struct list_head *node;

	/*
	 * The loop is open-coded because list_for_each_entry_rcu() calls lockdep,
	 * which the breakpoint handler must not do.
	 */
	for (node = READ_ONCE(tables.next); node != &tables; node = READ_ONCE(node->next)) {
		const struct patcher_table *table = list_entry(node, struct patcher_table, node);

		if (addr < table->start || addr >= table->end)
			continue;
		site = search_table(table, addr);
		if (site) {
			if (found)
				*found = table;
			return site;
		}
	}
	return NULL;
}
NOKPROBE_SYMBOL(patcher_sites_find);

/* The slow path of patcher_sites_walk(). */
const struct patcher_site *patcher_sites_walk_to(struct patcher_cursor *cursor,
						 unsigned long addr)
{
	const struct patcher_site *site = patcher_sites_find(addr, &cursor->table);

	patcher_assert_locked();
	if (site)
		cursor->next = site - cursor->table->sites + 1;
	return site;
}

/**
 * patcher_sites_for_each() - call a function for every site
 * @show: the function
 * @data: passed to it
 *
 * Context: patcher_lock() is held.
 */
void patcher_sites_for_each(void (*show)(void *data, const struct patcher_table *table,
				 const struct patcher_site *site), void *data)
{
	const struct patcher_table *table;
	unsigned int i;

	patcher_assert_locked();
	list_for_each_entry(table, &tables, node)
		for (i = 0; i < table->nr; i++)
			show(data, table, &table->sites[i]);
}
