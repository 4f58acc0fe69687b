/* SPDX-License-Identifier: GPL-2.0-only */
/* Patterns of site names. */
#ifndef ENTRY_PATTERN_H
#define ENTRY_PATTERN_H

#include <kmarkers/pattern.h>

enum {
	ENTRY_MODULE,
	ENTRY_FUNCTION,
	ENTRY_KIND,
	ENTRY_PARTS,
};

int entry_pattern_parse(struct patcher_pattern *pattern, const char *text);

#endif /* ENTRY_PATTERN_H */
