/* SPDX-License-Identifier: GPL-2.0-only */
/* The tables of sites that modules bring and take away. */
#ifndef SDT_TABLES_H
#define SDT_TABLES_H

struct kmarkers_span;
struct module;

int sdt_add_table(struct module *module, const struct kmarkers_span *span);
void sdt_drop_module(struct module *module);

#endif /* SDT_TABLES_H */
