/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Patterns of names that have parts, such as MODULE:FUNCTION.
 *
 *	function			may sleep  irq  nmi
 *	all				no	   yes	yes
 */
#ifndef KMARKERS_PATTERN_H
#define KMARKERS_PATTERN_H

#include <linux/types.h>

/* Maximum number of parts in a name; maximum size of a pattern in bytes, including the NUL. */
#define PATCHER_PATTERN_PARTS	4
#define PATCHER_PATTERN_BYTES	256

/**
 * struct patcher_pattern - a parsed pattern
 * @part: for each part of a name, a shell pattern that glob_match() accepts; "" matches anything
 * @text: the pattern as it was written
 * @parts: copy of @text, with a NUL after each part; @part points into it
 *
 * The struct must not be copied, because @part would point into the original.
 */
struct patcher_pattern {
	const char *part[PATCHER_PATTERN_PARTS];
	char text[PATCHER_PATTERN_BYTES];
	char parts[PATCHER_PATTERN_BYTES];
};

int patcher_pattern_parse(struct patcher_pattern *pattern, const char *text, const s8 *first_part,
			  unsigned int max_parts);
bool patcher_pattern_matches(const struct patcher_pattern *pattern, unsigned int part,
			     const char *name);

/* Return true if a pattern restricts part number @part of names, that is, if the part is not "". */
static inline bool patcher_pattern_restricts(const struct patcher_pattern *pattern,
					     unsigned int part)
{
	return *pattern->part[part];
}

#endif /* KMARKERS_PATTERN_H */
