/* SPDX-License-Identifier: GPL-2.0-only */
/* The marker registry: what the module glue (kernel or user space) calls. */
#ifndef MARKERS_REGISTRY_H
#define MARKERS_REGISTRY_H

#include <kmarkers/marker.h>
#include <kmarkers/table.h>

struct module;
struct seq_file;

/**
 * struct marker_link - a probe and the name that it is to be connected to
 * @name: as in marker_probe_register()
 * @func: the probe
 * @private: its private data
 */
struct marker_link {
	const char *name;
	marker_probe_func *func;
	void *private;
};

typedef int marker_visitor(void *data, const struct marker *marker);

#define MARKERS_LIST_HEAD	"name state flavour probes module function file:line format\n"

int typed_add_table(struct module *module, const struct kmarkers_span *span);
int markers_add_table(struct module *module, const struct kmarkers_span *span);
void markers_drop_module(struct module *module);
void markers_drop_records(const s32 *records);
unsigned int markers_disconnect(bool (*gone)(void *data, const char *name, unsigned long code),
				void *data);
void markers_free(void);
int tracepoints_connect(struct module *module);
int markers_show(struct seq_file *m, void *unused);
int markers_connect_many(const struct marker_link *links, unsigned int nr);
int markers_disconnect_many(const struct marker_link *links, unsigned int nr);
int markers_for_each(const char *name, const struct module *module, marker_visitor *visit,
		     void *data);
void markers_show_marker(struct seq_file *m, const struct marker *marker);

#endif /* MARKERS_REGISTRY_H */
