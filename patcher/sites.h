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
const struct patcher_site *sites_find(unsigned long addr, const struct patcher_table **table);
const struct patcher_site *sites_walk(struct sites_cursor *cursor, unsigned long addr);
void sites_for_each(void (*show)(void *data, const struct patcher_table *table,
				 const struct patcher_site *site), void *data);

/* In batch.c, which has the lock. */
void patcher_for_each_site(void (*show)(void *data, const struct patcher_table *table,
					const struct patcher_site *site), void *data);

#endif /* PATCHER_SITES_H */
