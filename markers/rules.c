// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rules: patterns of marker names that commands apply to, also when such names come later.  The
 * lock of controls.c protects them.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "rules.h"

/* A name of a marker has only one part. */
static const s8 first_part[] = { [1] = 0 };

LIST_HEAD(marker_rules);

/**
 * marker_rule_get() - find a rule, or make one that has no effect
 * @text: pattern of the rule
 *
 * Return: the rule, to be passed to marker_rule_put(); or an ERR_PTR() of -EINVAL for a pattern that
 * is too long, or -ENOMEM.
 */
struct marker_rule *marker_rule_get(const char *text)
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

/* Free a rule if it has no effect. */
void marker_rule_put(struct marker_rule *rule)
{
	if (rule->enabled)
		return;
	list_del(&rule->node);
	kfree(rule);
}

/* Return what the rules enable for a name: CONTROL_TRACE and CONTROL_COUNT. */
unsigned int marker_rules_enabled(const char *name)
{
	const struct marker_rule *rule;
	unsigned int enabled = 0;

	list_for_each_entry(rule, &marker_rules, node)
		if (marker_rule_matches(rule, name))
			enabled |= rule->enabled;
	return enabled;
}

/*
 * Let the rules whose patterns, as texts, are @rule's pattern or match it, enable @what no more.
 * Return true if one of them did.  @rule may have no effect then, and is not freed.
 */
bool marker_rules_disable(const struct marker_rule *rule, unsigned int what)
{
	struct marker_rule *other, *next;
	bool any = false;

	list_for_each_entry_safe(other, next, &marker_rules, node) {
		if (other != rule && !marker_rule_matches(rule, other->pattern.text))
			continue;
		any |= other->enabled & what;
		other->enabled &= ~what;
		if (other != rule)
			marker_rule_put(other);
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
