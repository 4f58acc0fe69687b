/* SPDX-License-Identifier: GPL-2.0-only */
/* Tables of immediate values: what the module glue (kernel or user space) calls. */
#ifndef IMMEDIATE_IMV_H
#define IMMEDIATE_IMV_H

#include <kmarkers/table.h>

struct module;
struct seq_file;

int imv_add_chunk(struct module *module, struct kmarkers_chunk *chunk);
void imv_drop_module(struct module *module);
int imv_show(struct seq_file *m, void *unused);

#endif /* IMMEDIATE_IMV_H */
