// SPDX-License-Identifier: GPL-2.0-only
/* Validate a group of another module or program. */
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/stringify.h>

#include "control.h"
#include "groups.h"

static bool is_group_name(const char *name)
{
	const char *at = name;

	while (at && ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
		      (*at >= '0' && *at <= '9') || *at == '-' || *at == '_'))
		at++;
	return at && at > name && !*at && at - name <= BENCH_MAX_NAME;
}

static const char *why_not_layouts(const struct bench_variant *variant, unsigned int nr)
{
	unsigned int i;

	if (!nr || nr > BENCH_LAYOUTS)
		return "its first variant has not 1 to " __stringify(BENCH_LAYOUTS) " layouts";
	if (variant->nr_layouts != nr)
		return "a variant has more or fewer layouts than the first";
	for (i = 0; i < nr; i++)
		if (!variant->op || !variant->op[i])
			return "a variant lacks a layout";
	return NULL;
}

/* Is the second variant named NAME-clone after the first? It is identified by that. */
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

/* Check how a variant is measured, and its code; with a block function it needs none. */
static const char *why_not_measured(const struct bench_group *group,
				    const struct bench_variant *variant)
{
	if ((unsigned int)variant->measured > BENCH_ROUNDS)
		return "what a variant measures is none of enum bench_measured";
	if (group->block)
		return NULL;
	if (variant->measured != BENCH_LOOP)
		return "a variant measures no loop, and there is no block function that does it";
	return why_not_layouts(variant, group->variants[0].nr_layouts);
}

static const char *why_not_variant(const struct bench_group *group, unsigned int number)
{
	const struct bench_variant *variant = &group->variants[number];
	unsigned int i;

	if (!is_group_name(variant->name))
		return "a variant has no name of 1 to " __stringify(BENCH_MAX_NAME) " letters, digits, - and _";
	for (i = 0; i < number; i++)
		if (!strcmp(group->variants[i].name, variant->name))
			return "two variants have one name";
	return why_not_measured(group, variant);
}

static const char *why_not_variants(const struct bench_group *group)
{
	/* A group with a block function may have one variant, and has no A/A clone. */
	unsigned int i, least = group->block ? 1 : 2;
	const char *why = NULL;

	if (!group->variants || group->nr_variants < least ||
	    group->nr_variants > BENCH_MAX_VARIANTS)
		return "it has not 2 to " __stringify(BENCH_MAX_VARIANTS)
		       " variants, or from 1 on with a block function";
	for (i = 0; i < group->nr_variants && !why; i++)
		why = why_not_variant(group, i);
	return why;
}

static const char *why_not_block(const struct bench_group *group)
{
	if (group->block && !group->block_samples)
		return "it has a block function and no block_samples";
	if (!group->block && group->block_samples)
		return "it has block_samples and no block function";
	return group->block && !group->block_samples() ? "its blocks have no samples" : NULL;
}

/**
 * bench_why_not() - what keeps a group from being measured, in words
 * @group: the group
 *
 * Return: NULL if nothing does.
 */
const char *bench_why_not(const struct bench_group *group)
{
	const char *why;

	if (!is_group_name(group->name))
		return "its name is not of 1 to " __stringify(BENCH_MAX_NAME) " letters, digits, - and _";
	if (bench_is_command(group->name))
		return "its name is a command of bench/control";
	if (group->lacks && strchr(group->lacks, '\n'))
		return "what it lacks is more than one line";
	why = why_not_variants(group) ?: why_not_block(group);
	if (why || group->block)
		return why;
	if (!has_clone(group))
		return "its second variant is not the first one's clone";
	return has_loops(group->loops) ? NULL : "its three loop counts do not ascend from 1";
}
