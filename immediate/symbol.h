/* SPDX-License-Identifier: GPL-2.0-only */
/* Print names of variables: symbol.c for the kernel, native/start.c for programs. */
#ifndef IMMEDIATE_SYMBOL_H
#define IMMEDIATE_SYMBOL_H

struct seq_file;

void imv_show_variable_name(struct seq_file *m, unsigned long addr);

#endif /* IMMEDIATE_SYMBOL_H */
