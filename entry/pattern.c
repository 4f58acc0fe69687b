// SPDX-License-Identifier: GPL-2.0-only
/* Parse patterns of site names. */
#include <linux/errno.h>

#include "pattern.h"

/*
 * For a pattern with n parts, element n is the part of a site's name that the first part of the
 * pattern matches.  A pattern of one part matches functions; a pattern of two or three parts begins
 * with a module.
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
