/* SPDX-License-Identifier: GPL-2.0-only */
/* The registered tables of sites: sorted, checked, searched from the breakpoint handler. */
#ifndef PATCHER_SITES_H
#define PATCHER_SITES_H

#include <kmarkers/patcher.h>

/**
 * struct sites_cursor - where a walk through the tables has come to
 * @table: of the last site found, NULL before the first
 * @next: index of the record after it
 */
struct sites_cursor {
	const struct patcher_table *table;
	unsigned int next;
};

int sites_add(struct patcher_table *table);
void sites_del(struct patcher_table *table);
bool sites_has(const struct patcher_table *table);
const struct patcher_site *sites_find(unsigned long addr, const struct patcher_table **table);
const struct patcher_site *sites_walk_to(struct sites_cursor *cursor, unsigned long addr);
void sites_for_each(void (*show)(void *data, const struct patcher_table *table,
				 const struct patcher_site *site), void *data);

/**
 * sites_walk() - the site at an address, for many ascending addresses
 * @cursor: zero at first; its table is that of the last site found
 * @addr: address of a first byte
 *
 * A batch mostly changes neighbours in one table: the next record is looked at
 * before all tables are searched.
 *
 * Context: the patcher's mutex is held.
 * Return: the site or NULL.
 */
static inline const struct patcher_site *sites_walk(struct sites_cursor *cursor, unsigned long addr)
{
	const struct patcher_table *table = cursor->table;

	if (table && cursor->next < table->nr &&
	    patcher_site_addr(&table->sites[cursor->next]) == addr)
		return &table->sites[cursor->next++];
	return sites_walk_to(cursor, addr);
}

/* In batch.c, which has the lock: before kprobe_mutex, and before those of ftrace. */
void patcher_lock(void);
void patcher_unlock(void);
void patcher_assert_locked(void);
int patcher_register_core(struct patcher_table *table);
void patcher_forget_table(struct patcher_table *table);
bool patcher_is_registered(const struct patcher_table *table);
void patcher_for_each_site(void (*show)(void *data, const struct patcher_table *table,
					const struct patcher_site *site), void *data);

#endif /* PATCHER_SITES_H */
