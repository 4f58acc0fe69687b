/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of variables: symbol.c implements this in the kernel, native/ in user space. */
#ifndef IMMEDIATE_SYMBOL_H
#define IMMEDIATE_SYMBOL_H

struct seq_file;

void imv_show_variable_name(struct seq_file *m, unsigned long addr);

#endif /* IMMEDIATE_SYMBOL_H */
