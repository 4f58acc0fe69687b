/* SPDX-License-Identifier: GPL-2.0-only */
/* The debugfs file markers/control. */
#ifndef MARKERS_CONTROL_FILE_H
#define MARKERS_CONTROL_FILE_H

struct dentry;

void marker_control_file_init(struct dentry *dir);
void marker_control_file_exit(void);

#endif /* MARKERS_CONTROL_FILE_H */
