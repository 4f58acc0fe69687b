// SPDX-License-Identifier: GPL-2.0-only
/* Validate a benchmark group that another module or a program registers. */
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/stringify.h>

#include "control.h"
#include "groups.h"

static bool is_valid_benchmark_name(const char *name)
{
	const char *at = name;

	while (at && ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
		      (*at >= '0' && *at <= '9') || *at == '-' || *at == '_'))
		at++;
	return at && at > name && !*at && at - name <= BENCH_MAX_NAME;
}

static const char *find_layout_error(const struct bench_variant *variant, unsigned int nr)
{
	unsigned int i;

	if (!nr || nr > BENCH_LAYOUTS)
		return "the first variant needs 1 to " __stringify(BENCH_LAYOUTS) " layouts";
	if (variant->nr_layouts != nr)
		return "a variant has more or fewer layouts than the first variant";
	for (i = 0; i < nr; i++)
		if (!variant->op || !variant->op[i])
			return "a variant lacks a layout";
	return NULL;
}

/*
 * Return true if the name of the second variant is the name of the first variant, followed by
 * "-clone".  The analysis finds the A/A clone, a copy of the first variant, by that name.
 */
static bool is_second_variant_clone(const struct bench_group *group)
{
	const char *base = group->variants[0].name, *clone = group->variants[1].name;

	return !strncmp(clone, base, strlen(base)) && !strcmp(clone + strlen(base), "-clone");
}

/* Return true if the loop counts ascend, or if all are 0, so that they are chosen at run time. */
static bool are_loop_counts_valid(const u32 *loops)
{
	if (!loops[0])
		return !loops[1] && !loops[2];
	return loops[0] < loops[1] && loops[1] < loops[2];
}

/*
 * Check the measured quantity and the layouts of a variant.  Return the error as text, or NULL.  In
 * a group with a block function, variants need no layouts.
 */
static const char *find_variant_code_error(const struct bench_group *group,
					   const struct bench_variant *variant)
{
	if ((unsigned int)variant->measured > BENCH_ROUNDS)
		return "the field .measured of a variant is not a value of enum bench_measured";
	if (group->block)
		return NULL;
	if (variant->measured != BENCH_LOOP)
		return "a variant measures no loop (BENCH_LOOP), but there is no block function";
	return find_layout_error(variant, group->variants[0].nr_layouts);
}

static const char *find_variant_error(const struct bench_group *group, unsigned int number)
{
	const struct bench_variant *variant = &group->variants[number];
	unsigned int i;

	if (!is_valid_benchmark_name(variant->name))
		return "the name of a variant is not 1 to " __stringify(BENCH_MAX_NAME) " letters, digits, - or _";
	for (i = 0; i < number; i++)
		if (!strcmp(group->variants[i].name, variant->name))
			return "two variants have the same name";
	return find_variant_code_error(group, variant);
}

static const char *find_variants_error(const struct bench_group *group)
{
	/* A group with a block function may have one variant, and has no A/A clone. */
	unsigned int i, least = group->block ? 1 : 2;
	const char *why = NULL;

	if (!group->variants || group->nr_variants < least ||
	    group->nr_variants > BENCH_MAX_VARIANTS)
		return "the number of variants is not 2 to " __stringify(BENCH_MAX_VARIANTS)
		       " (with a block function: 1 or more)";
	for (i = 0; i < group->nr_variants && !why; i++)
		why = find_variant_error(group, i);
	return why;
}

static const char *find_block_function_error(const struct bench_group *group)
{
	if (group->block && !group->block_samples)
		return "the field .block is set, but .block_samples is not";
	if (!group->block && group->block_samples)
		return "the field .block_samples is set, but .block is not";
	return group->block && !group->block_samples() ? "its blocks have no samples" : NULL;
}

/**
 * bench_find_group_error() - validate a group
 * @group: the group
 *
 * Return: the reason why the group cannot be measured, as text; NULL if it is valid.
 */
const char *bench_find_group_error(const struct bench_group *group)
{
	const char *why;

	if (!is_valid_benchmark_name(group->name))
		return "its name is not 1 to " __stringify(BENCH_MAX_NAME) " letters, digits, - or _";
	if (bench_is_reserved_word(group->name))
		return "its name is a command or a setting of bench/control";
	if (group->lacks && strchr(group->lacks, '\n'))
		return "the field .lacks has more than one line";
	why = find_variants_error(group) ?: find_block_function_error(group);
	if (why || group->block)
		return why;
	if (!is_second_variant_clone(group))
		return "the name of the second variant is not the first variant's name followed by -clone";
	return are_loop_counts_valid(group->loops) ? NULL :
	       "the three loop counts neither ascend from 1 or more nor are all 0";
}
