/* SPDX-License-Identifier: GPL-2.0-only */
/* The debugfs files entry/list and entry/stats. */
#ifndef ENTRY_LIST_H
#define ENTRY_LIST_H

struct seq_file;

int entry_list_show(struct seq_file *m, void *unused);
int entry_stats_show(struct seq_file *m, void *unused);

#endif /* ENTRY_LIST_H */
