/* SPDX-License-Identifier: GPL-2.0-only */
/* The file immediate/list in debugfs. */
#ifndef IMMEDIATE_LIST_H
#define IMMEDIATE_LIST_H

struct seq_file;

int imv_list_show(struct seq_file *m, void *unused);

#endif /* IMMEDIATE_LIST_H */
