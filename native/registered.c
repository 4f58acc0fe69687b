// SPDX-License-Identifier: GPL-2.0-only
/* The groups of a program of others, in place of bench_modules/groups.c and its peers. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../bench_modules/groups.h"
#include "peers.h"
#include "registered.h"

#define MOST_GROUPS	64
/* Groups beyond that are counted, and refused when the program runs. */
const struct bench_group *bench_groups[MOST_GROUPS];
unsigned int bench_nr_groups;

void bench_register(const struct bench_group *group)
{
	if (bench_nr_groups < MOST_GROUPS)
		bench_groups[bench_nr_groups] = group;
	bench_nr_groups++;
}

void native_peers_load(void)
{
}

void native_peers_show(FILE *file)
{
}

static bool is_name(const char *name)
{
	const char *at = name;

	while (at && (isalnum(*at) || *at == '-' || *at == '_'))
		at++;
	return at && at > name && !*at;
}

static bool has_all_layouts(const struct bench_variant *variant)
{
	unsigned int i;

	for (i = 0; i < BENCH_LAYOUTS; i++)
		if (!variant->op[i])
			return false;
	return true;
}

/* Is the second variant named after the first?  It is told from the others by that. */
static bool has_clone(const struct bench_group *group)
{
	const char *base = group->variants[0].name, *clone = group->variants[1].name;

	return !strncmp(clone, base, strlen(base)) && !strcmp(clone + strlen(base), "-clone");
}

/* Do the loop counts ascend, or are they all 0, to be found? */
static bool has_loops(const u32 *loops)
{
	if (!loops[0])
		return !loops[1] && !loops[2];
	return loops[0] < loops[1] && loops[1] < loops[2];
}

static const char *why_not_variant(const struct bench_group *group, unsigned int number)
{
	const struct bench_variant *variant = &group->variants[number];
	unsigned int i;

	if (!is_name(variant->name))
		return "a variant has no name of letters, digits, - and _";
	if (!has_all_layouts(variant))
		return "a variant lacks a layout";
	for (i = 0; i < number; i++)
		if (!strcmp(group->variants[i].name, variant->name))
			return "two variants have one name";
	return NULL;
}

static const char *why_not(const struct bench_group *group)
{
	const char *why = NULL;
	unsigned int i;

	if (!is_name(group->name))
		return "its name is not of letters, digits, - and _";
	if (!group->variants || group->nr_variants < 2 || group->nr_variants > BENCH_MAX_VARIANTS)
		return "it has not 2 to 32 variants";
	for (i = 0; i < group->nr_variants && !why; i++)
		why = why_not_variant(group, i);
	if (why)
		return why;
	if (!has_clone(group))
		return "its second variant is not the first one's clone";
	return has_loops(group->loops) ? NULL : "its three loop counts do not ascend from 1";
}

int native_registered_check(void)
{
	unsigned int i, j;

	if (!bench_nr_groups || bench_nr_groups > MOST_GROUPS) {
		fprintf(stderr, "kmbench: %u benchmarks are registered, not 1 to %u\n",
			bench_nr_groups, MOST_GROUPS);
		return -EINVAL;
	}
	for (i = 0; i < bench_nr_groups; i++) {
		const char *why = why_not(bench_groups[i]);

		for (j = 0; j < i && !why; j++)
			if (!strcmp(bench_groups[j]->name, bench_groups[i]->name))
				why = "its name is registered twice";
		if (why) {
			fprintf(stderr, "kmbench: benchmark %s: %s\n",
				bench_groups[i]->name ?: "(null)", why);
			return -EINVAL;
		}
	}
	return 0;
}
