// SPDX-License-Identifier: GPL-2.0-only
/* Parse and match patterns of site names. */
#include <linux/errno.h>
#include <linux/glob.h>
#include <linux/string.h>

#include "pattern.h"

/* The part that a pattern begins with, by its number of parts: a single part is the function. */
static const u8 first_part[ENTRY_PARTS + 1] = {
	[1] = ENTRY_FUNCTION,
	[2] = ENTRY_MODULE,
	[3] = ENTRY_MODULE,
};

/**
 * entry_pattern_parse() - parse a pattern
 * @pattern: filled in
 * @text: function, module:function or module:function:kind
 *
 * Return: 0; -EINVAL if @text has too many parts or is too long, or if its kind matches neither
 * "entry" nor "exit".
 */
int entry_pattern_parse(struct entry_pattern *pattern, const char *text)
{
	char *rest = pattern->text, *part[ENTRY_PARTS];
	unsigned int i, nr;

	if (strlen(text) >= sizeof(pattern->text))
		return -EINVAL;
	strcpy(pattern->text, text);
	for (nr = 0; rest; nr++) {
		if (nr == ENTRY_PARTS)
			return -EINVAL;
		part[nr] = strsep(&rest, ":");
	}
	for (i = 0; i < ENTRY_PARTS; i++)
		pattern->part[i] = "";
	for (i = 0; i < nr; i++)
		pattern->part[first_part[nr] + i] = part[i];
	if (entry_part_matches(pattern, ENTRY_KIND, "entry") ||
	    entry_part_matches(pattern, ENTRY_KIND, "exit"))
		return 0;
	return -EINVAL;
}

bool entry_part_matches(const struct entry_pattern *pattern, unsigned int part, const char *name)
{
	return !entry_pattern_has(pattern, part) || glob_match(pattern->part[part], name);
}
