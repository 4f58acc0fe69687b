/* SPDX-License-Identifier: GPL-2.0-only */
/* Registration of modules with recorded functions. */
#ifndef ENTRY_TABLES_H
#define ENTRY_TABLES_H

struct module;

void entry_add_module(struct module *module, bool is_live);
int entry_add_present(void);
void entry_drop_module(struct module *module);
void entry_drop_all(void);

#endif /* ENTRY_TABLES_H */
