// SPDX-License-Identifier: GPL-2.0-only
/*
 * The list of registered tables of sites.  The list is changed only with patcher_lock() held, and
 * read with patcher_lock() held or by the breakpoint handler.  The handler runs with interrupts
 * off, so synchronize_rcu() waits for it.
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

/* Swap two records, and adjust the offsets in them, which are relative to the record itself. */
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

static int compare_compact_sites(const void *a, const void *b)
{
	unsigned long x = patcher_compact_addr(a), y = patcher_compact_addr(b);

	return x < y ? -1 : x > y;
}

static void swap_compact_sites(void *a, void *b, int size)
{
	struct patcher_compact_site *x = a, *y = b, tmp = *x;
	s32 distance = (long)y - (long)x;

	*x = *y;
	x->addr += distance;
	*y = tmp;
	y->addr -= distance;
}

static __always_inline unsigned long get_site_addr(const void *table, unsigned int i)
{
	return patcher_get_site_addr(table, i);
}

static unsigned long get_site_end(const struct patcher_table *table, unsigned int i)
{
	return patcher_get_site_addr(table, i) + patcher_get_site(table, i)->len;
}

/*
 * Return true if the records of a table are sorted by address.  Nearly all tables are sorted; a
 * heap sort of a sorted table would be slow.
 */
static bool is_table_sorted(const struct patcher_table *table)
{
	unsigned int i;

	for (i = 1; i < table->nr; i++)
		if (patcher_get_site_addr(table, i - 1) > patcher_get_site_addr(table, i))
			return false;
	return true;
}

static void sort_site_table(struct patcher_table *table)
{
	if (is_table_sorted(table))
		return;
	if (table->compact)
		sort(table->compact, table->nr, sizeof(*table->compact), compare_compact_sites,
		     swap_compact_sites);
	else
		sort(table->sites, table->nr, sizeof(*table->sites), compare_sites, swap_sites);
}

/* Return true if the @len bytes at @addr overlap a site of a table. */
static bool has_site_in_range(const struct patcher_table *table, unsigned long addr,
			      unsigned int len)
{
	/* Check the first site that begins at or after @addr, and the site before it. */
	unsigned int i = kmarkers_lower_bound(table, table->nr, addr, get_site_addr);

	if (i < table->nr && patcher_get_site_addr(table, i) < addr + len)
		return true;
	return i && get_site_end(table, i - 1) > addr;
}

static bool overlaps_other_table(const struct patcher_table *table)
{
	const struct patcher_table *other;
	unsigned int i;

	list_for_each_entry(other, &tables, node) {
		if (table->start >= other->end || other->start >= table->end)
			continue;
		for (i = 0; i < table->nr; i++)
			if (has_site_in_range(other, patcher_get_site_addr(table, i),
					      patcher_get_site(table, i)->len))
				return true;
	}
	return false;
}

/**
 * patcher_sites_add_table() - sort and check a table, and publish it to the handler
 * @table: the table; its records are sorted in place
 *
 * Return: 0; -EINVAL if @table has no site, or if two sites of @table overlap; -EBUSY if a site of
 * @table overlaps a site of another table.
 */
int patcher_sites_add_table(struct patcher_table *table)
{
	unsigned int i;

	patcher_assert_locked();
	if (!table->nr)
		return -EINVAL;
	sort_site_table(table);
	for (i = 1; i < table->nr; i++)
		if (get_site_end(table, i - 1) > patcher_get_site_addr(table, i))
			return -EINVAL;
	table->start = patcher_get_site_addr(table, 0);
	table->end = get_site_end(table, table->nr - 1);
	if (overlaps_other_table(table))
		return -EBUSY;
	list_add_rcu(&table->node, &tables);
	return 0;
}

/* Unlink a table.  The caller waits for an RCU grace period before it frees the table. */
void patcher_sites_del_table(struct patcher_table *table)
{
	patcher_assert_locked();
	list_del_rcu(&table->node);
}

/* Return true if a table is registered.  Only the address of @table is used, not the contents. */
bool patcher_sites_has_table(const struct patcher_table *table)
{
	const struct patcher_table *other;

	patcher_assert_locked();
	list_for_each_entry(other, &tables, node)
		if (other == table)
			return true;
	return false;
}

/**
 * find_site_in_tables() - find the site at an address
 * @addr: address of the site's first byte
 * @cursor: if a site is found, set to the site's table and the index of the next record
 *
 * Return: the site or NULL.
 */
static const struct patcher_site *find_site_in_tables(unsigned long addr,
						      struct patcher_cursor *cursor)
{
	struct list_head *node;
	unsigned int i;

	/*
	 * The loop does not use list_for_each_entry_rcu(), because that macro calls lockdep, which
	 * must not be called in the breakpoint handler.
	 */
	for (node = READ_ONCE(tables.next); node != &tables; node = READ_ONCE(node->next)) {
		const struct patcher_table *table = list_entry(node, struct patcher_table, node);

		if (addr < table->start || addr >= table->end)
			continue;
		i = kmarkers_lower_bound(table, table->nr, addr, get_site_addr);
		if (i == table->nr || patcher_get_site_addr(table, i) != addr)
			continue;
		cursor->table = table;
		cursor->next = i + 1;
		return patcher_get_site(table, i);
	}
	return NULL;
}
NOKPROBE_SYMBOL(find_site_in_tables);

/**
 * patcher_sites_find() - find the site at an address
 * @addr: address of the site's first byte
 * @table: set to the site's table, if not NULL
 *
 * Context: any, NMI included, if preemption is off or patcher_lock() is held.
 * Return: the site or NULL.  The sites of a compact table share one record, &table->alike, which
 * has no address.
 */
const struct patcher_site *patcher_sites_find(unsigned long addr,
					      const struct patcher_table **table)
{
	struct patcher_cursor cursor;
	const struct patcher_site *site = find_site_in_tables(addr, &cursor);

	if (site && table)
		*table = cursor.table;
	return site;
}
NOKPROBE_SYMBOL(patcher_sites_find);

/* Slow path of patcher_sites_find_next(): search all tables. */
const struct patcher_site *patcher_sites_find_next_slow(struct patcher_cursor *cursor,
							unsigned long addr)
{
	patcher_assert_locked();
	return find_site_in_tables(addr, cursor);
}

/**
 * patcher_sites_for_each() - call a function for every site
 * @show: the function
 * @data: first argument of @show
 *
 * Context: patcher_lock() is held.
 */
void patcher_sites_for_each(void (*show)(void *data, const struct patcher_table *table,
				 const struct patcher_site *site, u8 *addr), void *data)
{
	const struct patcher_table *table;
	unsigned int i;

	patcher_assert_locked();
	list_for_each_entry(table, &tables, node)
		for (i = 0; i < table->nr; i++)
			show(data, table, patcher_get_site(table, i),
			     (u8 *)patcher_get_site_addr(table, i));
}
