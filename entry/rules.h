/* SPDX-License-Identifier: GPL-2.0-only */
/* Rules: actions for the hits of sites, including sites of modules loaded later. */
#ifndef ENTRY_RULES_H
#define ENTRY_RULES_H

#include <linux/types.h>

struct entry_table;
struct seq_file;

int entry_rule_add(const char *text, u32 action);
int entry_rule_remove(const char *text, u32 action);
int entry_rules_show(struct seq_file *m);
void entry_rules_clear(void);
int entry_rules_join(struct entry_table *table);
void entry_rules_leave(struct entry_table *table);

#endif /* ENTRY_RULES_H */
