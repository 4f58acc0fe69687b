// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rules: a rule applies an action to the hits of all sites that match a pattern, including sites of
 * modules loaded later.
 *
 * Rules are changed in two steps, so that nothing is changed if memory runs out. First the new
 * actions of the sites are stored as planned actions, in the sites' data beside the current
 * actions. Then the planned and the current actions are swapped, and the instructions are updated.
 * If the update fails, the actions are swapped back. A change of a rule that names a module walks
 * only the sites of that module.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/rculist.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "names.h"
#include "pattern.h"
#include "registry.h"
#include "rules.h"
#include "switch.h"

/* Bit offset of the planned actions in a site's data. */
#define PLAN_SHIFT	16

/**
 * struct rule - an action for the hits of matching sites
 * @node: link in the list of all rules
 * @action: ENTRY_COUNT or ENTRY_EVENT
 * @matched: true if at least one site has matched the rule since it was added
 * @pattern: the pattern of the sites
 */
struct rule {
	struct list_head node;
	u32 action;
	bool matched;
	struct patcher_pattern pattern;
};

static LIST_HEAD(rules);

static struct rule *find_rule(const char *pattern, u32 action)
{
	struct rule *rule;

	lockdep_assert_held(&entry_registry.lock);
	list_for_each_entry(rule, &rules, node)
		if (rule->action == action && !strcmp(rule->pattern.text, pattern))
			return rule;
	return NULL;
}

static bool rule_matches_table(const struct rule *rule, const struct entry_table *table)
{
	return patcher_pattern_matches(&rule->pattern, ENTRY_MODULE,
				       module_name(table->sites.module));
}

static bool rule_matches_function(const struct rule *rule, const struct entry_table *table,
				  unsigned int i)
{
	char function[ENTRY_MAX_FUNCTION];
	unsigned long offset;
	const char *name = entry_get_symbol(table, i, &offset);

	return patcher_pattern_matches(&rule->pattern, ENTRY_FUNCTION,
				       entry_strip_cold_suffix(function, name));
}

/*
 * Set the bits of @plan in the data of each matching site of a table. Return the number of matching
 * sites. Visit only functions whose names begin with the literal prefix of the pattern. If the
 * pattern is this prefix followed by "*", and the prefix has no dot, all these functions match. A
 * dot in the prefix may begin the suffix of cold code, which is not a part of the function's name.
 */
static unsigned int mark_rule_matches(struct entry_table *table, const struct rule *rule, u32 plan)
{
	const char *function = rule->pattern.part[ENTRY_FUNCTION];
	const size_t literal = strcspn(function, "*?[\\");
	const bool is_prefix = !strcmp(function + literal, "*") && !memchr(function, '.', literal);
	const bool is_named = patcher_pattern_restricts(&rule->pattern, ENTRY_FUNCTION);
	const bool matches_kind[ENTRY_KINDS] = {
		patcher_pattern_matches(&rule->pattern, ENTRY_KIND, "entry"),
		patcher_pattern_matches(&rule->pattern, ENTRY_KIND, "exit"),
	};
	unsigned int at, end, nr = 0;

	if (!rule_matches_table(rule, table))
		return 0;
	at = entry_find_name_index(table, function, literal, false);
	end = entry_find_name_index(table, function, literal, true);
	for (; at < end; at++) {
		const unsigned int i = table->by_name[at];
		struct patcher_compact_site *site = &table->sites.compact[i];

		if (!matches_kind[site->data & ENTRY_EXIT] ||
		    (is_named && !is_prefix && !rule_matches_function(rule, table, i)))
			continue;
		if (plan)
			entry_update_flags(site, 0, plan);
		nr++;
	}
	return nr;
}

static const char *get_action_name(u32 action)
{
	return action == ENTRY_COUNT ? "count" : "event";
}

/* Show a line for each rule: its pattern, its action, and the number of matching sites. */
void entry_show_rules(struct seq_file *m)
{
	struct entry_table *table;
	const struct rule *rule;

	mutex_lock(&entry_registry.lock);
	list_for_each_entry(rule, &rules, node) {
		unsigned int nr = 0;

		list_for_each_entry(table, &entry_registry.tables, node)
			nr += mark_rule_matches(table, rule, 0);
		seq_printf(m, "%s %s %u\n", rule->pattern.text, get_action_name(rule->action),
			   nr);
	}
	mutex_unlock(&entry_registry.lock);
}

static void clear_planned_actions(struct entry_table *table)
{
	struct patcher_compact_site *site = table->sites.compact, *end = site + table->sites.nr;

	for (; site < end; site++)
		entry_update_flags(site, ENTRY_ACTIONS << PLAN_SHIFT, 0);
}

static bool is_counting_planned(const struct entry_table *table)
{
	unsigned int i;

	for (i = 0; i < table->sites.nr; i++)
		if (table->sites.compact[i].data & ENTRY_COUNT << PLAN_SHIFT)
			return true;
	return false;
}

/* Set the planned actions of a table to the actions of all rules. Return 0 or -ENOMEM. */
static int plan_table_actions(struct entry_table *table)
{
	struct rule *rule;

	clear_planned_actions(table);
	list_for_each_entry(rule, &rules, node)
		rule->matched |= mark_rule_matches(table, rule, rule->action << PLAN_SHIFT) > 0;
	if (!table->counts && is_counting_planned(table)) {
		/* Hits read the array only after ENTRY_COUNT is set, which happens later. */
		table->counts = kvcalloc(table->sites.nr, sizeof(*table->counts), GFP_KERNEL);
		if (!table->counts)
			return -ENOMEM;
	}
	return 0;
}

/* Plan the actions of the tables whose modules a rule matches. Return 0 or -ENOMEM. */
static int plan_actions_for_rule(const struct rule *rule)
{
	struct entry_table *table;
	int err = 0;

	list_for_each_entry(table, &entry_registry.tables, node) {
		if (rule_matches_table(rule, table))
			err = plan_table_actions(table);
		if (err)
			break;
	}
	return err;
}

/* Swap the planned and the current actions of all sites in a table. */
static void swap_planned_actions_of_table(struct entry_table *table)
{
	struct patcher_compact_site *site = table->sites.compact, *end = site + table->sites.nr;

	for (; site < end; site++) {
		u32 plan = site->data >> PLAN_SHIFT & ENTRY_ACTIONS;
		u32 current_actions = site->data & ENTRY_ACTIONS;

		entry_update_flags(site, ENTRY_ACTIONS | ENTRY_ACTIONS << PLAN_SHIFT,
				   plan | current_actions << PLAN_SHIFT);
	}
	table->changed = true;
}

/* Swap the planned and the current actions in the tables whose modules a rule matches. */
static void swap_planned_actions_for_rule(const struct rule *rule)
{
	struct entry_table *table;

	list_for_each_entry(table, &entry_registry.tables, node)
		if (rule_matches_table(rule, table))
			swap_planned_actions_of_table(table);
}

static int add_rule(struct rule *rule)
{
	int err;

	list_add_tail(&rule->node, &rules);
	err = plan_actions_for_rule(rule);
	if (!err) {
		swap_planned_actions_for_rule(rule);
		err = entry_enable_sites_with_actions();
		if (err)
			swap_planned_actions_for_rule(rule);
	}
	if (err)
		list_del(&rule->node);
	else if (!rule->matched)
		pr_info("pattern %s: matches no function yet; applies to modules loaded later\n",
			rule->pattern.text);
	return err;
}

/**
 * entry_rule_add() - apply an action to the hits of matching sites
 * @pattern: pattern of the sites: see entry_pattern_parse()
 * @action: ENTRY_COUNT or ENTRY_EVENT
 *
 * Context: may sleep.
 * Return: 0; -EINVAL if @pattern is malformed; -EBUSY if the rule exists already; -ENOMEM, or an
 * error of patcher_apply(). With an error nothing is changed.
 */
int entry_rule_add(const char *pattern, u32 action)
{
	struct rule *rule = kzalloc(sizeof(*rule), GFP_KERNEL);
	int err;

	if (!rule)
		return -ENOMEM;
	err = entry_pattern_parse(&rule->pattern, pattern);
	if (!err) {
		rule->action = action;
		mutex_lock(&entry_registry.lock);
		err = find_rule(pattern, action) ? -EBUSY : add_rule(rule);
		mutex_unlock(&entry_registry.lock);
	}
	if (err)
		kfree(rule);
	return err;
}

static int remove_rule(struct rule *rule)
{
	int err;

	list_del(&rule->node);
	err = plan_actions_for_rule(rule);
	if (!err) {
		swap_planned_actions_for_rule(rule);
		err = entry_disable_sites_without_actions();
		if (err == -ENOMEM)
			swap_planned_actions_for_rule(rule);
	}
	if (err == -ENOMEM)
		list_add_tail(&rule->node, &rules);
	else
		kfree(rule);
	return err;
}

/**
 * entry_rule_remove() - remove a rule
 * @pattern: the text that entry_rule_add() was called with
 * @action: the action that entry_rule_add() was called with
 *
 * Context: may sleep.
 * Return: 0; -ENOENT if there is no such rule; -ENOMEM with nothing changed; or an error of
 * patcher_apply(), such as -EBUSY because of a kprobe: then the rule was removed, but a site could
 * not be disabled. The hits of that site are ignored, and the next removal of a rule tries again to
 * disable the site.
 */
int entry_rule_remove(const char *pattern, u32 action)
{
	struct rule *rule;
	int err;

	mutex_lock(&entry_registry.lock);
	rule = find_rule(pattern, action);
	err = rule ? remove_rule(rule) : -ENOENT;
	mutex_unlock(&entry_registry.lock);
	return err;
}

/* Remove all rules, and clear the actions of all sites. The sites are not disabled here. */
void entry_rules_clear(void)
{
	struct rule *rule, *next;
	struct entry_table *table;

	lockdep_assert_held(&entry_registry.lock);
	list_for_each_entry_safe(rule, next, &rules, node) {
		list_del(&rule->node);
		kfree(rule);
	}
	list_for_each_entry(table, &entry_registry.tables, node) {
		clear_planned_actions(table);
		swap_planned_actions_of_table(table);
	}
}

/*
 * Add a new table to the registry, apply the rules to the table, and enable the matching sites.
 * Return 0, -ENOMEM or an error of the patcher.
 */
int entry_add_table_and_apply_rules(struct entry_table *table)
{
	int err;

	lockdep_assert_held(&entry_registry.lock);
	err = plan_table_actions(table);
	if (err)
		return err;
	list_add_rcu(&table->node, &entry_registry.tables);
	swap_planned_actions_of_table(table);
	err = entry_enable_sites_with_actions();
	if (err)
		entry_disable_and_remove_table(table);
	return err;
}

/*
 * Disable the sites of a table, and remove the table. After a grace period no hit uses the table.
 */
void entry_disable_and_remove_table(struct entry_table *table)
{
	lockdep_assert_held(&entry_registry.lock);
	clear_planned_actions(table);
	swap_planned_actions_of_table(table);
	entry_disable_sites_without_actions();
	list_del_rcu(&table->node);
}
