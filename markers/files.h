/* SPDX-License-Identifier: GPL-2.0-only */
/* The directories in debugfs/kmarkers/markers, one for each marker name. */
#ifndef MARKERS_FILES_H
#define MARKERS_FILES_H

struct dentry;
struct module;

void marker_files_init(struct dentry *dir);
int marker_files_add_directories(struct module *module);
void marker_files_remove_directories(void);

#endif /* MARKERS_FILES_H */
