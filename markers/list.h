/* SPDX-License-Identifier: GPL-2.0-only */
/* Printing the list of registered markers, and calling a function for each marker. */
#ifndef MARKERS_LIST_H
#define MARKERS_LIST_H

#include <linux/types.h>

struct marker;
struct module;
struct seq_file;

typedef int marker_visitor(void *data, const struct marker *marker);

int marker_list_show(struct seq_file *m, void *unused);
int marker_visit(const char *name, const struct module *module, marker_visitor *visit,
		 void *data);
bool marker_exists(const char *name, const struct module *module);

#endif /* MARKERS_LIST_H */
