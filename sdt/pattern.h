/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of sites, and patterns of site names. */
#ifndef SDT_PATTERN_H
#define SDT_PATTERN_H

#include <linux/types.h>

#include <kmarkers/pattern.h>

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

/* Buffer size of a function's name, including the NUL. */
#define SDT_MAX_FUNCTION	128
/* Buffer size of a trace event's name, including the NUL. The kernel refuses longer names. */
#define SDT_MAX_EVENT		256
/* Buffer size of a probe's full name: provider:module:function:name. */
#define SDT_MAX_NAME		512

/**
 * struct sdt_pattern - a parsed pattern
 * @names: the patterns of the parts of a site's name; the offset is not one of these parts
 * @has_offset: true if the pattern names a single site of a function by its offset
 * @offset: offset of that site in its function, in bytes
 * @event: name of the trace event that the site's probe must have; NULL for any
 * @format: format of that trace event
 */
struct sdt_pattern {
	struct patcher_pattern names;
	bool has_offset;
	u64 offset;
	const char *event;
	const char *format;
};

/**
 * struct sdt_place - the full name and the location of a site
 * @part: the parts of the name
 * @function: name of the function that contains the site
 * @offset: offset of the site in that function, in bytes
 * @name: name of the probe, with dashes as shown to users; @part[SDT_NAME] points to it
 */
struct sdt_place {
	const char *part[SDT_PARTS];
	char function[SDT_MAX_FUNCTION];
	unsigned long offset;
	char name[SDT_MAX_FUNCTION];
};

/* True if the function of a site must be looked up to match the site against @pattern. */
static inline bool sdt_pattern_has_function(const struct sdt_pattern *pattern)
{
	return pattern->has_offset || patcher_pattern_restricts(&pattern->names, SDT_FUNCTION);
}

int sdt_pattern_parse(struct sdt_pattern *pattern, const char *text);
void sdt_make_event_name(char *name, const struct sdt_probe *probe);
void sdt_make_probe_name(char *text, const struct sdt_table *table, const struct sdt_probe *probe);
bool sdt_pattern_matches_site(const struct sdt_pattern *pattern, const struct sdt_table *table,
			      unsigned int i);
void sdt_make_site_name(struct sdt_place *place, const struct sdt_table *table,
			const struct patcher_site *site);
void sdt_make_name_in_same_function(struct sdt_place *place, const struct sdt_table *table,
				    const struct patcher_site *site, unsigned long offset);

#endif /* SDT_PATTERN_H */
