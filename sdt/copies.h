/* SPDX-License-Identifier: GPL-2.0-only */
/* Detection of the copies of sites that the compiler made. */
#ifndef SDT_COPIES_H
#define SDT_COPIES_H

struct sdt_table;

int sdt_join_copies(struct sdt_table *table);
void sdt_disconnect_targets(struct sdt_table *table);

#endif /* SDT_COPIES_H */
