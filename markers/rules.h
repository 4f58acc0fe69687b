/* SPDX-License-Identifier: GPL-2.0-only */
/* Rules: patterns of marker names, with commands that also apply to names added later. */
#ifndef MARKERS_RULES_H
#define MARKERS_RULES_H

#include <linux/list.h>

#include <kmarkers/pattern.h>

/**
 * struct marker_rule - a pattern of marker names, with all that commands have enabled for matching
 * names
 * @node: link in the list of all rules
 * @enabled: mask of CONTROL_TRACE and CONTROL_COUNT; 0 for a rule that has no effect
 * @pattern: the pattern of names
 */
struct marker_rule {
	struct list_head node;
	unsigned int enabled;
	struct patcher_pattern pattern;
};

extern struct list_head marker_rules;

struct marker_rule *marker_rule_find_or_make(const char *text);
void marker_rule_free_if_unused(struct marker_rule *rule);
unsigned int marker_rules_get_enabled_mask(const char *name);
bool marker_rules_disable(const struct marker_rule *rule, unsigned int mask);
void marker_rules_free(void);

static inline bool marker_rule_matches(const struct marker_rule *rule, const char *name)
{
	return patcher_pattern_matches(&rule->pattern, 0, name);
}

#endif /* MARKERS_RULES_H */
