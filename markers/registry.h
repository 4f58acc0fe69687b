/* SPDX-License-Identifier: GPL-2.0-only */
/* The marker registry: what the module glue (kernel or user space) calls. */
#ifndef MARKERS_REGISTRY_H
#define MARKERS_REGISTRY_H

#include <kmarkers/table.h>

struct module;
struct seq_file;

int typed_add_chunk(struct module *module, struct kmarkers_chunk *chunk);
int markers_add_chunk(struct module *module, struct kmarkers_chunk *chunk);
void markers_drop_module(struct module *module);
unsigned int markers_disconnect(bool (*gone)(void *data, const char *name, unsigned long code),
				void *data);
void markers_free(void);
int markers_show(struct seq_file *m, void *unused);

#endif /* MARKERS_REGISTRY_H */
