// SPDX-License-Identifier: GPL-2.0-only
/* Parse patterns of site names. */
#include <linux/errno.h>

#include "pattern.h"

/*
 * Element n tells to which part of a site's name the first part of a pattern of n parts applies: to
 * the function for n = 1, to the module for n = 2 or 3.
 */
static const s8 first_part[ENTRY_PARTS + 1] = {
	[1] = ENTRY_FUNCTION,
	[2] = ENTRY_MODULE,
	[3] = ENTRY_MODULE,
};

/**
 * entry_pattern_parse() - parse a pattern
 * @pattern: filled in
 * @text: function, module:function or module:function:kind
 *
 * Return: 0; -EINVAL if @text has too many parts or is too long, or if the part for the kind
 * matches neither "entry" nor "exit".
 */
int entry_pattern_parse(struct patcher_pattern *pattern, const char *text)
{
	int err = patcher_pattern_parse(pattern, text, first_part, ENTRY_PARTS);

	if (err)
		return err;
	if (patcher_pattern_matches(pattern, ENTRY_KIND, "entry") ||
	    patcher_pattern_matches(pattern, ENTRY_KIND, "exit"))
		return 0;
	return -EINVAL;
}
