/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rules, which apply an action to the hits of matching sites, including sites in modules loaded
 * later.
 */
#ifndef ENTRY_RULES_H
#define ENTRY_RULES_H

#include <linux/types.h>

struct entry_table;
struct seq_file;

int entry_rule_add(const char *pattern, u32 action);
int entry_rule_remove(const char *pattern, u32 action);
void entry_show_rules(struct seq_file *m);
void entry_rules_clear(void);
int entry_add_table_and_apply_rules(struct entry_table *table);
void entry_disable_and_remove_table(struct entry_table *table);

#endif /* ENTRY_RULES_H */
