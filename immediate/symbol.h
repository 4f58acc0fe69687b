/* SPDX-License-Identifier: GPL-2.0-only */
/* Print names of variables: symbol.c in the kernel, native/start.c in user space. */
#ifndef IMMEDIATE_SYMBOL_H
#define IMMEDIATE_SYMBOL_H

struct seq_file;

void imv_show_variable_name(struct seq_file *m, unsigned long addr);

#endif /* IMMEDIATE_SYMBOL_H */
