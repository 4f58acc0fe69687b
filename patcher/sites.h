/* SPDX-License-Identifier: GPL-2.0-only */
/* The list of registered tables of sites, which the breakpoint handler searches. */
#ifndef PATCHER_SITES_H
#define PATCHER_SITES_H

#include <kmarkers/patcher.h>

/**
 * struct patcher_cursor - position of a walk through the tables
 * @table: table of the last site that was found; NULL before the first site is found
 * @next: index in @table of the record after that site
 */
struct patcher_cursor {
	const struct patcher_table *table;
	unsigned int next;
};

/* Return the address of site @i of a table. */
static __always_inline unsigned long patcher_get_site_addr(const struct patcher_table *table,
							   unsigned int i)
{
	return table->compact ? patcher_compact_addr(&table->compact[i]) :
			      patcher_site_addr(&table->sites[i]);
}

/* Return the record of site @i; sites of a compact table share one record, without an address. */
static __always_inline const struct patcher_site *
patcher_get_site(const struct patcher_table *table, unsigned int i)
{
	return table->compact ? &table->alike : &table->sites[i];
}

int patcher_sites_add_table(struct patcher_table *table);
void patcher_sites_del_table(struct patcher_table *table);
bool patcher_sites_has_table(const struct patcher_table *table);
const struct patcher_site *patcher_sites_find(unsigned long addr,
					      const struct patcher_table **table);
const struct patcher_site *patcher_sites_find_next_slow(struct patcher_cursor *cursor,
							unsigned long addr);
void patcher_sites_for_each(void (*show)(void *data, const struct patcher_table *table,
				 const struct patcher_site *site, u8 *addr), void *data);

/**
 * patcher_sites_find_next() - find the site at an address; fast if the addresses ascend
 * @cursor: all zero before the first call; @cursor->table is the table of the last site found
 * @addr: address of the site's first byte
 *
 * Most batches change neighbouring sites of one table.  So the function first compares @addr with
 * the record after the last site found, and searches all tables only if the addresses differ.
 *
 * Context: patcher_lock() is held.
 * Return: the site or NULL.
 */
static inline const struct patcher_site *patcher_sites_find_next(struct patcher_cursor *cursor,
								 unsigned long addr)
{
	const struct patcher_table *table = cursor->table;

	if (table && cursor->next < table->nr && patcher_get_site_addr(table, cursor->next) == addr)
		return patcher_get_site(table, cursor->next++);
	return patcher_sites_find_next_slow(cursor, addr);
}

#endif /* PATCHER_SITES_H */
