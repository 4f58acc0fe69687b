/* SPDX-License-Identifier: GPL-2.0-only */
/* The debugfs file sdt/list. */
#ifndef SDT_LIST_H
#define SDT_LIST_H

struct seq_file;

int sdt_list_show(struct seq_file *m, void *unused);

#endif /* SDT_LIST_H */
