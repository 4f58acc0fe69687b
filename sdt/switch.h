/* SPDX-License-Identifier: GPL-2.0-only */
/* Enabling and disabling of sites, and their change between breakpoint and jump. */
#ifndef SDT_SWITCH_H
#define SDT_SWITCH_H

struct patcher_table;

int sdt_switch_new(const struct patcher_table *sites);
int sdt_switch_on(void);
int sdt_switch_hot(void);
int sdt_switch_off(void);

#endif /* SDT_SWITCH_H */
