// SPDX-License-Identifier: GPL-2.0-only
/* Parse patterns of names, and match names against them. */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/glob.h>
#include <linux/string.h>

#include <kmarkers/pattern.h>

/**
 * patcher_pattern_parse() - parse a pattern
 * @pattern: filled in
 * @text: one or more parts, with colons between them
 * @first_part: for a @text of n parts, element n is the index of the name's part that the first
 *	part of @text must match; the next parts of @text must match the next parts of the name
 * @max_parts: maximum number of parts; if it is 1, a colon in @text does not separate parts
 *
 * Return: 0; -EINVAL if @text is too long or has more than @max_parts parts.
 */
int patcher_pattern_parse(struct patcher_pattern *pattern, const char *text, const s8 *first_part,
			  unsigned int max_parts)
{
	char *rest = pattern->parts, *part[PATCHER_PATTERN_PARTS];
	unsigned int i, nr = 0;

	if (strlen(text) >= sizeof(pattern->text))
		return -EINVAL;
	strcpy(pattern->text, text);
	strcpy(pattern->parts, text);
	for (; rest; nr++) {
		if (nr == max_parts)
			return -EINVAL;
		part[nr] = strsep(&rest, max_parts > 1 ? ":" : "");
	}
	for (i = 0; i < PATCHER_PATTERN_PARTS; i++)
		pattern->part[i] = "";
	for (i = 0; i < nr; i++)
		pattern->part[first_part[nr] + i] = strcmp(part[i], "*") ? part[i] : "";
	return 0;
}
EXPORT_SYMBOL_GPL(patcher_pattern_parse);

/**
 * patcher_pattern_matches() - match a part of a name against a pattern
 * @pattern: the pattern
 * @part: index of a part of names
 * @name: text of this part in one name
 *
 * Return: true if @pattern matches @name, or if @pattern does not restrict this part.
 */
bool patcher_pattern_matches(const struct patcher_pattern *pattern, unsigned int part,
			     const char *name)
{
	return !patcher_pattern_restricts(pattern, part) || glob_match(pattern->part[part], name);
}
EXPORT_SYMBOL_GPL(patcher_pattern_matches);
