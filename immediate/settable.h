/* SPDX-License-Identifier: GPL-2.0-only */
/* Immediate values that root may change through debugfs; in the kernel only. */
#ifndef IMMEDIATE_SETTABLE_H
#define IMMEDIATE_SETTABLE_H

#include <kmarkers/table.h>

struct dentry;
struct module;

void imv_settable_init(struct dentry *dir);
void imv_settable_exit(void);
int imv_settable_create_files(struct module *module, const struct kmarkers_span *span);
void imv_settable_remove_files(struct module *module);

#endif /* IMMEDIATE_SETTABLE_H */
