/* SPDX-License-Identifier: GPL-2.0-only */
/* Registration of marker tables: of modules, or of a program in user space. */
#ifndef MARKERS_TABLES_H
#define MARKERS_TABLES_H

#include <kmarkers/table.h>

#include "probes.h"

struct module;

typedef int marker_ready_visitor(void *data, const struct marker *marker, struct module *owner);

int marker_tables_register_module(struct module *module, const struct kmarkers_span *span);
void marker_tables_unregister_module(struct module *module);
void marker_tables_unregister_records(const s32 *records);
bool marker_tables_set_ready(struct module *module);
int marker_tables_visit_ready(struct module *module, marker_ready_visitor *visit, void *data);
int marker_tables_visit_first_ready(const char *name, const char *format,
				    marker_ready_visitor *visit, void *data);
unsigned int marker_tables_disconnect_if(probe_predicate *must_disconnect, void *data);

#endif /* MARKERS_TABLES_H */
