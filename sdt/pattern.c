// SPDX-License-Identifier: GPL-2.0-only
/* Make the full names of sites; parse patterns of such names and match sites against them. */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/string.h>

#include <kmarkers/patcher.h>

#include "pattern.h"
#include "registry.h"
#include "symbol.h"
#include "types.h"

/* Copy the name of a probe, with each pair of underscores replaced by a dash, as in dtrace(1). */
static void copy_probe_name_with_dashes(char *to, size_t size, const char *name)
{
	size_t at = 0;

	for (; *name && at + 1 < size; name++) {
		bool dash = name[0] == '_' && name[1] == '_';

		to[at++] = dash ? '-' : *name;
		name += dash;
	}
	to[at] = '\0';
}

/* Return @defined, the name in the probe's definition; if this name is empty, return @actual. */
static const char *prefer_defined_name(const char *defined, const char *actual)
{
	return *defined ? defined : actual;
}

/*
 * Fill in the parts of a site's name. The function is not looked up, because the lookup is slow:
 * @place->part[SDT_FUNCTION] is empty unless the probe's definition names the function.
 */
static void fill_probe_name(struct sdt_place *place, const struct sdt_table *table,
			    const struct sdt_probe *probe)
{
	copy_probe_name_with_dashes(place->name, sizeof(place->name), probe->name);
	place->part[SDT_PROVIDER] = probe->provider->name;
	place->part[SDT_MODULE] = prefer_defined_name(probe->module,
						      module_name(table->sites.module));
	place->part[SDT_FUNCTION] = probe->function;
	place->part[SDT_NAME] = place->name;
}

/*
 * Look up the function that contains a site. Reschedule if needed, because the lookup searches all
 * symbols of the module, and callers look up the functions of many sites.
 */
static void look_up_site_function(struct sdt_place *place, const struct patcher_site *site)
{
	cond_resched();
	place->offset = sdt_find_function_name(patcher_site_addr(site), place->function,
					       sizeof(place->function));
	place->part[SDT_FUNCTION] = prefer_defined_name(place->part[SDT_FUNCTION], place->function);
}

/**
 * sdt_make_site_name() - make the full name of a site
 * @place: filled in
 * @table: the table of the site
 * @site: the site
 */
void sdt_make_site_name(struct sdt_place *place, const struct sdt_table *table,
			const struct patcher_site *site)
{
	fill_probe_name(place, table, sdt_get_probe(site));
	look_up_site_function(place, site);
}

/**
 * sdt_make_name_in_same_function() - make the name of another site of the same function
 * @place: the name of one site of the function; replaced by the name of the other site
 * @table: the table of the other site
 * @site: the other site
 * @offset: offset of the other site in the function, in bytes
 */
void sdt_make_name_in_same_function(struct sdt_place *place, const struct sdt_table *table,
				    const struct patcher_site *site, unsigned long offset)
{
	fill_probe_name(place, table, sdt_get_probe(site));
	place->offset = offset;
	place->part[SDT_FUNCTION] = prefer_defined_name(place->part[SDT_FUNCTION], place->function);
}

static bool name_part_matches(const struct sdt_pattern *pattern, const struct sdt_place *place,
			      unsigned int part)
{
	return patcher_pattern_matches(&pattern->names, part, place->part[part]);
}

static bool is_probe_of_event(const struct sdt_probe *probe, const struct sdt_pattern *pattern)
{
	char name[SDT_MAX_EVENT], format[SDT_FORMAT];

	sdt_make_event_name(name, probe);
	if (strcmp(name, pattern->event))
		return false;
	sdt_make_event_format(format, probe);
	return !strcmp(format, pattern->format);
}

static bool pattern_matches_copy(const struct sdt_pattern *pattern, const struct sdt_table *table,
				 const struct patcher_site *site)
{
	struct sdt_place place;

	fill_probe_name(&place, table, sdt_get_probe(site));
	if (!name_part_matches(pattern, &place, SDT_PROVIDER) ||
	    !name_part_matches(pattern, &place, SDT_MODULE) ||
	    !name_part_matches(pattern, &place, SDT_NAME))
		return false;
	if (pattern->event && !is_probe_of_event(sdt_get_probe(site), pattern))
		return false;
	if (!sdt_pattern_has_function(pattern))
		return true;
	look_up_site_function(&place, site);
	return name_part_matches(pattern, &place, SDT_FUNCTION) &&
	       (!pattern->has_offset || place.offset == pattern->offset);
}

/*
 * True if a pattern matches site @i of a table. The names of the copies of a site differ only in
 * the offset, so a pattern with an offset matches the site if any copy has this offset.
 */
bool sdt_pattern_matches_site(const struct sdt_pattern *pattern, const struct sdt_table *table,
			      unsigned int i)
{
	const struct sdt_state *state = &table->states[i], *copy = state;

	do {
		if (pattern_matches_copy(pattern, table, sdt_get_site(table, copy - table->states)))
			return true;
		copy = sdt_get_next_copy(copy);
	} while (pattern->has_offset && copy != state);
	return false;
}

/* Element n tells to which part of a site's name the first part of a pattern of n parts applies. */
static const s8 first_part[SDT_PARTS + 1] = {
	[1] = SDT_NAME,
	[2] = SDT_FUNCTION,
	[3] = SDT_MODULE,
	[4] = SDT_PROVIDER,
};

/**
 * sdt_pattern_parse() - parse a pattern
 * @pattern: filled in
 * @text: [[[provider:]module:]function:]name[@+offset]
 *
 * Return: 0, or -EINVAL if @text has too many parts or is too long, or if the offset is malformed.
 */
int sdt_pattern_parse(struct sdt_pattern *pattern, const char *text)
{
	const char *offset = strchr(text, '@');
	int err;

	memset(pattern, 0, sizeof(*pattern));
	if (offset && (offset[1] != '+' || kstrtou64(offset + 2, 0, &pattern->offset)))
		return -EINVAL;
	pattern->has_offset = offset;
	err = patcher_pattern_parse(&pattern->names, text, first_part, SDT_PARTS);
	/* The offset is at the end of the last part, since no colon can follow an offset. */
	if (!err && offset)
		*strchr((char *)pattern->names.part[SDT_NAME], '@') = '\0';
	return err;
}

/**
 * sdt_make_event_name() - make the name of a probe's trace event
 * @name: buffer of SDT_MAX_EVENT bytes for the name
 * @probe: the probe
 *
 * The name is PROBE. If the probe's definition names a function, the name is FUNCTION_PROBE,
 * because probes of several functions often have the same name and different arguments.
 */
void sdt_make_event_name(char *name, const struct sdt_probe *probe)
{
	snprintf(name, SDT_MAX_EVENT, "%s%s%s", probe->function, *probe->function ? "_" : "",
		 probe->name);
}

/**
 * sdt_make_probe_name() - make the full name of a probe, for the log
 * @text: buffer of SDT_MAX_NAME bytes for the name
 * @table: table with a site of the probe; gives the module if the probe's definition names none
 * @probe: the probe
 */
void sdt_make_probe_name(char *text, const struct sdt_table *table, const struct sdt_probe *probe)
{
	struct sdt_place place;

	fill_probe_name(&place, table, probe);
	snprintf(text, SDT_MAX_NAME, "%s:%s:%s:%s", place.part[SDT_PROVIDER],
		 place.part[SDT_MODULE], place.part[SDT_FUNCTION], place.part[SDT_NAME]);
}
