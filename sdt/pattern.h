/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of sites, and patterns of site names. */
#ifndef SDT_PATTERN_H
#define SDT_PATTERN_H

#include <linux/types.h>

struct patcher_site;
struct sdt_probe;
struct sdt_table;

enum {
	SDT_PROVIDER,
	SDT_MODULE,
	SDT_FUNCTION,
	SDT_NAME,
	SDT_PARTS,
};

/* Sizes of a pattern, including the NUL, and of the name of a function. */
#define SDT_MAX_PATTERN		256
#define SDT_MAX_FUNCTION	128
/* Size of the name of a trace event; the trace core accepts less. */
#define SDT_MAX_EVENT		256
/* Size of the full name of a probe, with three colons. */
#define SDT_MAX_NAME		512

/**
 * struct sdt_pattern - a parsed pattern
 * @part: a pattern of the shell for each part of the name; "" for anything
 * @has_offset: whether it is for a single site of a function
 * @offset: of that in the function
 * @event: the name that the probe has as a trace event, or NULL for any
 * @format: the fields that it has then
 * @text: what the parts point into
 */
struct sdt_pattern {
	const char *part[SDT_PARTS];
	bool has_offset;
	u64 offset;
	const char *event;
	const char *format;
	char text[SDT_MAX_PATTERN];
};

/**
 * struct sdt_place - the name of a site
 * @part: the parts of its name
 * @function: the function that it is in
 * @offset: its offset there
 * @name: what the last part points at
 */
struct sdt_place {
	const char *part[SDT_PARTS];
	char function[SDT_MAX_FUNCTION];
	unsigned long offset;
	char name[SDT_MAX_FUNCTION];
};

int sdt_pattern_parse(struct sdt_pattern *pattern, const char *text);
void sdt_name_event(char *name, const struct sdt_probe *probe);
void sdt_name_probe(char *text, const struct sdt_table *table, const struct sdt_probe *probe);
bool sdt_pattern_matches(const struct sdt_pattern *pattern, const struct sdt_table *table,
			 unsigned int i);
void sdt_name_site(struct sdt_place *place, const struct sdt_table *table,
		   const struct patcher_site *site);
void sdt_name_next(struct sdt_place *place, const struct sdt_table *table,
		   const struct patcher_site *site, unsigned long offset);

#endif /* SDT_PATTERN_H */
