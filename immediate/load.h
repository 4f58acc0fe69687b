/* SPDX-License-Identifier: GPL-2.0-only */
/* Tables of immediate values: what the module glue (kernel or user space) calls. */
#ifndef IMMEDIATE_LOAD_H
#define IMMEDIATE_LOAD_H

#include <kmarkers/table.h>

struct module;

int imv_add_table(struct module *module, const struct kmarkers_span *span);
void imv_drop_module(struct module *module);

#endif /* IMMEDIATE_LOAD_H */
