/* SPDX-License-Identifier: GPL-2.0-only */
/* Enabling and disabling of sites, and their change between breakpoint and jump. */
#ifndef SDT_SWITCH_H
#define SDT_SWITCH_H

struct patcher_table;

int sdt_write_initial_nops(const struct patcher_table *sites);
int sdt_enable_sites_with_handlers(void);
int sdt_switch_promoted_sites(void);
int sdt_disable_sites_without_handlers(void);

#endif /* SDT_SWITCH_H */
