// SPDX-License-Identifier: GPL-2.0-only
/*
 * Choose loop counts for each variant on this machine, so that a timed window takes 10 to 30
 * microseconds.  Such a window is long compared to the time to read the clock and to the clock's
 * resolution, and short compared to the time between two interrupts.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/printk.h>
#include <linux/string.h>
#include <linux/timekeeping.h>

#include "loops.h"

#define SHORTEST_NS	10000ULL
/*
 * Maximum loop count.  If a window with so many iterations is still shorter than SHORTEST_NS, the
 * clock is taken not to advance, and the group is not measured.
 */
#define MOST_PASSES	(1U << 26)
/*
 * The loop counts, each in fifths of the smallest loop count.  The windows take about 10, 16 and 24
 * us.
 */
#define FIFTHS		{ 5, 8, 12 }
/*
 * Number of significant bits to which loop counts are rounded, so that most processes choose the
 * same loop counts.
 */
#define BITS		4
/* Maximum duration in ns of a window with fixed loop counts.  Interrupts may be off in a window. */
#define LONGEST_NS	1000000000ULL

/*
 * Return the time of @passes loop iterations in ns: the minimum over all layouts (copies of the
 * code at different addresses), because a disturbance only lengthens a window.
 */
static u64 measure_shortest_window_ns(const struct bench_variant *variant, u32 passes)
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

/* Round @count up to a number with BITS significant bits. */
static u32 round_up_loop_count(u32 count)
{
	u32 unit = 1;

	while (count / unit >> BITS)
		unit *= 2;
	return (count + unit - 1) / unit * unit;
}

static void choose_loop_counts(u32 smallest, u32 loops[BENCH_LOOP_COUNTS])
{
	static const u32 fifths[BENCH_LOOP_COUNTS] = FIFTHS;
	unsigned int i;

	for (i = 0; i < BENCH_LOOP_COUNTS; i++) {
		loops[i] = smallest * fifths[i] / fifths[0];
		if (i && loops[i] <= loops[i - 1])
			loops[i] = loops[i - 1] + 1;
	}
}

/*
 * Measure one loop iteration, and return -E2BIG if @passes iterations would take longer than
 * LONGEST_NS.
 */
static int check_window_duration(const struct bench_group *group,
				 const struct bench_variant *variant, u32 passes)
{
	u64 pass = measure_shortest_window_ns(variant, 1), most = div64_u64(LONGEST_NS, pass ?: 1);

	if (passes <= most)
		return 0;
	pr_err("benchmark %s, variant %s: loop count %u may keep interrupts off for over %llu ms: reduce it to %llu or less\n",
	       group->name, variant->name, passes, LONGEST_NS / 1000000, most);
	return -E2BIG;
}

/**
 * bench_find_loop_counts() - choose the loop counts of a variant on this machine
 * @group: the group, whose fixed loop counts are used if it has fixed loop counts
 * @variant: index of the variant; the caller has called @group->select() for it
 * @loops: filled in with the loop counts, ascending
 *
 * Context: may sleep.
 * Return: 0, -ETIME if the clock does not advance, -ERANGE if the TSC does not advance, or -E2BIG
 * if fixed loop counts would keep interrupts off too long.
 */
int bench_find_loop_counts(const struct bench_group *group, unsigned int variant,
			   u32 loops[BENCH_LOOP_COUNTS])
{
	u32 passes = 1;
	u64 ns;

	if (group->loops[0]) {
		memcpy(loops, group->loops, sizeof(group->loops));
		return check_window_duration(group, &group->variants[variant],
					     loops[BENCH_LOOP_COUNTS - 1]);
	}
	while ((ns = measure_shortest_window_ns(&group->variants[variant], passes)) < SHORTEST_NS) {
		if (passes == MOST_PASSES) {
			pr_err("benchmark %s cannot be measured: the clock does not advance\n",
			       group->name);
			return -ETIME;
		}
		passes *= 2;
	}
	if (!group->variants[variant].op[0](passes)) {
		pr_err("benchmark %s cannot be measured: the TSC does not advance\n", group->name);
		return -ERANGE;
	}
	choose_loop_counts(round_up_loop_count(div64_u64(passes * SHORTEST_NS + ns - 1, ns)),
			   loops);
	return 0;
}

/*
 * Delay by an empty loop of @iterations iterations, each of which takes about a cycle.  The
 * function is called with a random number before each timed window, so that windows begin at random
 * times.
 */
void bench_delay(u32 iterations)
{
	while (iterations--)
		barrier();
}
