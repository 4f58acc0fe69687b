// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rules: patterns of marker names, each with the commands that were run for the pattern.  The
 * commands also apply to matching names of modules that are loaded later.  The lock of controls.c
 * protects the rules.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "rules.h"

/* Argument of patcher_pattern_parse(): the only part of a pattern applies to part 0 of a name. */
static const s8 first_part[] = { [1] = 0 };

LIST_HEAD(marker_rules);

/**
 * marker_rule_find_or_make() - find the rule with a pattern, or make a rule that has no effect yet
 * @text: pattern of the rule
 *
 * Return: the rule, to be passed to marker_rule_free_if_unused(); or an ERR_PTR() of -EINVAL for a
 * pattern that is too long, or -ENOMEM.
 */
struct marker_rule *marker_rule_find_or_make(const char *text)
{
	struct marker_rule *rule;
	int err;

	list_for_each_entry(rule, &marker_rules, node)
		if (!strcmp(rule->pattern.text, text))
			return rule;
	rule = kzalloc(sizeof(*rule), GFP_KERNEL);
	if (!rule)
		return ERR_PTR(-ENOMEM);
	err = patcher_pattern_parse(&rule->pattern, text, first_part, 1);
	if (err) {
		kfree(rule);
		return ERR_PTR(err);
	}
	list_add_tail(&rule->node, &marker_rules);
	return rule;
}

/* Free a rule if it enables neither the trace event nor the probe "count". */
void marker_rule_free_if_unused(struct marker_rule *rule)
{
	if (rule->enabled)
		return;
	list_del(&rule->node);
	kfree(rule);
}

/* Return the mask of CONTROL_TRACE and CONTROL_COUNT that the rules enable for a marker name. */
unsigned int marker_rules_get_enabled_mask(const char *name)
{
	const struct marker_rule *rule;
	unsigned int enabled = 0;

	list_for_each_entry(rule, &marker_rules, node)
		if (marker_rule_matches(rule, name))
			enabled |= rule->enabled;
	return enabled;
}

/*
 * Clear the bits of @mask in ->enabled of @rule.  Do the same for each other rule whose pattern,
 * taken as a name, matches the pattern of @rule, and free these other rules if their ->enabled
 * becomes 0.  Return true if a bit was cleared.
 */
bool marker_rules_disable(const struct marker_rule *rule, unsigned int mask)
{
	struct marker_rule *other, *next;
	bool any = false;

	list_for_each_entry_safe(other, next, &marker_rules, node) {
		if (other != rule && !marker_rule_matches(rule, other->pattern.text))
			continue;
		any |= other->enabled & mask;
		other->enabled &= ~mask;
		if (other != rule)
			marker_rule_free_if_unused(other);
	}
	return any;
}

/* Free all rules. */
void marker_rules_free(void)
{
	struct marker_rule *rule, *next;

	list_for_each_entry_safe(rule, next, &marker_rules, node) {
		list_del(&rule->node);
		kfree(rule);
	}
}
