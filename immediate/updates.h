/* SPDX-License-Identifier: GPL-2.0-only */
/* A counter of changes for each immediate value. */
#ifndef IMMEDIATE_UPDATES_H
#define IMMEDIATE_UPDATES_H

struct imv_change;
struct module;
struct patcher_site;

int imv_add_update_counters(const struct patcher_site *const *sites, unsigned int nr);
void imv_count_updates(const struct imv_change *changes, unsigned int nr);
unsigned long imv_get_update_count(const void *var);
void imv_remove_update_counters(struct module *module);

#endif /* IMMEDIATE_UPDATES_H */
