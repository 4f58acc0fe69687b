/* SPDX-License-Identifier: GPL-2.0-only */
/* Register and unregister tables of sites, when a module is loaded and unloaded. */
#ifndef IMMEDIATE_LOAD_H
#define IMMEDIATE_LOAD_H

#include <kmarkers/table.h>

struct module;

int imv_register_module_sites(struct module *module, const struct kmarkers_span *span);
void imv_unregister_module_sites(struct module *module);

#endif /* IMMEDIATE_LOAD_H */
