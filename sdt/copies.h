/* SPDX-License-Identifier: GPL-2.0-only */
/* Find the copies that the compiler made of sites. */
#ifndef SDT_COPIES_H
#define SDT_COPIES_H

struct sdt_table;

int sdt_link_site_copies(struct sdt_table *table);
void sdt_clear_sites_of_jump_targets(struct sdt_table *table);

#endif /* SDT_COPIES_H */
