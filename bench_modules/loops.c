// SPDX-License-Identifier: GPL-2.0-only
/*
 * Choose the loop counts of windows, so that a window takes 10 to 30 microseconds. That is long
 * against reading the clock and against a step of it, and short against the time between two
 * interrupts. What that is depends on the machine and on the variant.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/printk.h>
#include <linux/string.h>
#include <linux/timekeeping.h>

#include "loops.h"

#define SHORTEST_NS	10000ULL
/* Upper bound of loop counts; no machine needs more. */
#define MOST_PASSES	(1U << 26)
/* The counts are 5, 8 and 12 fifths of the shortest, so that the longest is below 30 us. */
#define FIFTHS		{ 5, 8, 12 }
/* Significant bits of loop counts: few, so that most processes choose the same count. */
#define BITS		4
/* The longest window, because interrupts may be off in it. */
#define LONGEST_NS	1000000000ULL

/*
 * Return the time that so many passes take: the shortest of all layouts, since what
 * disturbs a window makes it longer.
 */
static u64 time_of(const struct bench_variant *variant, u32 passes)
{
	u64 shortest = ~0ULL;
	unsigned int layout;

	for (layout = 0; layout < variant->nr_layouts; layout++) {
		u64 start = ktime_get_ns(), ns;

		variant->op[layout](passes);
		ns = ktime_get_ns() - start;
		if (ns < shortest)
			shortest = ns;
	}
	return shortest;
}

/* Round up to a number with BITS significant bits. */
static u32 round_up_to_bits(u32 number)
{
	u32 unit = 1;

	while (number / unit >> BITS)
		unit *= 2;
	return (number + unit - 1) / unit * unit;
}

static void spread(u32 least, u32 loops[BENCH_LOOP_COUNTS])
{
	static const u32 fifths[BENCH_LOOP_COUNTS] = FIFTHS;
	unsigned int i;

	for (i = 0; i < BENCH_LOOP_COUNTS; i++) {
		loops[i] = least * fifths[i] / fifths[0];
		if (i && loops[i] <= loops[i - 1])
			loops[i] = loops[i - 1] + 1;
	}
}

/* Check that windows of so many passes are short enough; one pass of each layout says so. */
static int check_length(const struct bench_group *group, const struct bench_variant *variant,
			u32 passes)
{
	u64 pass = time_of(variant, 1), most = div64_u64(LONGEST_NS, pass ?: 1);

	if (passes <= most)
		return 0;
	pr_err("%s/%s: %u passes may hold interrupts off for more than %llu ms; the maximum is %llu\n",
	       group->name, variant->name, passes, LONGEST_NS / 1000000, most);
	return -E2BIG;
}

/**
 * bench_find_loops() - the loop counts of a variant on this machine
 * @group: the group; its own counts are taken if it has any
 * @variant: the variant, which the group has selected
 * @loops: the counts, ascending
 *
 * Context: may sleep.
 * Return: 0, -ETIME if the clock does not advance, -ERANGE if the TSC does not, or -E2BIG
 * if the group's own counts hold interrupts off too long.
 */
int bench_find_loops(const struct bench_group *group, unsigned int variant,
		     u32 loops[BENCH_LOOP_COUNTS])
{
	u32 passes = 1;
	u64 ns;

	if (group->loops[0]) {
		memcpy(loops, group->loops, sizeof(group->loops));
		return check_length(group, &group->variants[variant], loops[BENCH_LOOP_COUNTS - 1]);
	}
	while ((ns = time_of(&group->variants[variant], passes)) < SHORTEST_NS) {
		if (passes == MOST_PASSES) {
			pr_err("%s: the clock is not advancing\n", group->name);
			return -ETIME;
		}
		passes *= 2;
	}
	if (!group->variants[variant].op[0](passes)) {
		pr_err("%s: TSC is not advancing\n", group->name);
		return -ERANGE;
	}
	spread(round_up_to_bits(div64_u64(passes * SHORTEST_NS + ns - 1, ns)), loops);
	return 0;
}

/* An empty loop, whose passes take a cycle each, and which no clock times. */
void bench_dither(u32 turns)
{
	while (turns--)
		barrier();
}
