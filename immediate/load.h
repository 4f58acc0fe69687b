/* SPDX-License-Identifier: GPL-2.0-only */
/* Adding and dropping tables of sites, called when a module or program starts and ends. */
#ifndef IMMEDIATE_LOAD_H
#define IMMEDIATE_LOAD_H

#include <kmarkers/table.h>

struct module;

int imv_add_table(struct module *module, const struct kmarkers_span *span);
void imv_drop_module(struct module *module);

#endif /* IMMEDIATE_LOAD_H */
