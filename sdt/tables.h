/* SPDX-License-Identifier: GPL-2.0-only */
/* Registration of modules with SDT probes. */
#ifndef SDT_TABLES_H
#define SDT_TABLES_H

#include <linux/types.h>

struct kmarkers_span;
struct module;
struct patcher_site;
struct sdt_table;

struct sdt_table *sdt_alloc_table(struct module *module, struct patcher_site *sites,
				  unsigned int nr);
void sdt_free_table(struct sdt_table *table);
int sdt_register_table(struct sdt_table *table);
int sdt_register_sites(struct module *module, const struct kmarkers_span *span,
		       const struct kmarkers_span *targets);
void sdt_unregister_module(struct module *module, bool keep_trapped);

#endif /* SDT_TABLES_H */
