/* SPDX-License-Identifier: GPL-2.0-only */
/* Registration of modules with recorded functions (built with entry.mk). */
#ifndef ENTRY_TABLES_H
#define ENTRY_TABLES_H

struct module;

void entry_register_module(struct module *module, bool is_live);
int entry_register_loaded_modules(void);
void entry_unregister_module(struct module *module);
void entry_unregister_all_modules(void);

#endif /* ENTRY_TABLES_H */
