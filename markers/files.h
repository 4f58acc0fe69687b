/* SPDX-License-Identifier: GPL-2.0-only */
/* The directories in debugfs, one for each name of markers. */
#ifndef MARKERS_FILES_H
#define MARKERS_FILES_H

struct dentry;
struct module;

void marker_files_init(struct dentry *dir);
int marker_files_add(struct module *module);
void marker_files_remove(void);

#endif /* MARKERS_FILES_H */
