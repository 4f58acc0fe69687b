/* SPDX-License-Identifier: GPL-2.0-only */
/* Patterns of site names. */
#ifndef ENTRY_PATTERN_H
#define ENTRY_PATTERN_H

#include <linux/types.h>

enum {
	ENTRY_MODULE,
	ENTRY_FUNCTION,
	ENTRY_KIND,
	ENTRY_PARTS,
};

/* Size of a pattern, including the NUL. */
#define ENTRY_MAX_PATTERN	256

/**
 * struct entry_pattern - a parsed pattern
 * @part: a shell pattern for each part of a site's name; "" matches anything
 * @text: copy of the pattern as it was written; @part points into it
 */
struct entry_pattern {
	const char *part[ENTRY_PARTS];
	char text[ENTRY_MAX_PATTERN];
};

int entry_pattern_parse(struct entry_pattern *pattern, const char *text);
bool entry_part_matches(const struct entry_pattern *pattern, unsigned int part, const char *name);

static inline bool entry_pattern_has(const struct entry_pattern *pattern, unsigned int part)
{
	return *pattern->part[part];
}

#endif /* ENTRY_PATTERN_H */
