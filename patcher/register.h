/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions to register tables of sites, for use inside the patcher only. */
#ifndef PATCHER_REGISTER_H
#define PATCHER_REGISTER_H

#include <kmarkers/patcher.h>

int patcher_register_core_table(struct patcher_table *table);
void patcher_unregister_table_locked(struct patcher_table *table);
bool patcher_is_table_registered(const struct patcher_table *table);
void patcher_for_each_site(void (*show)(void *data, const struct patcher_table *table,
					const struct patcher_site *site, u8 *addr), void *data);

#endif /* PATCHER_REGISTER_H */
