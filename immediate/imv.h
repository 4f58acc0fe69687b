/* SPDX-License-Identifier: GPL-2.0-only */
/* Tables of immediate values: what the module glue (kernel or user space) calls. */
#ifndef IMMEDIATE_IMV_H
#define IMMEDIATE_IMV_H

#include <kmarkers/table.h>

struct imv_change;
struct module;
struct patcher_site;
struct seq_file;

int imv_add_table(struct module *module, const struct kmarkers_span *span);
void imv_drop_module(struct module *module);
int imv_show(struct seq_file *m, void *unused);

/* Prints what a variable is called; in the module glue, which knows symbols. */
void imv_show_symbol(struct seq_file *m, unsigned long addr);

/* How often each value was changed. */
int imv_updates_reserve(const struct patcher_site *const *sites, unsigned int nr);
void imv_updates_count(const struct imv_change *changes, unsigned int nr);
unsigned long imv_updates_of(const void *var);
void imv_updates_drop(struct module *module);

/* The values that root may change; in the kernel only. */
struct dentry;
void settable_init(struct dentry *dir);
int settable_add_table(struct module *module, const struct kmarkers_span *span);
void settable_drop_module(struct module *module);

#endif /* IMMEDIATE_IMV_H */
