// SPDX-License-Identifier: GPL-2.0-only
/* Print samples as CSV, and a short summary of the samples. */
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include <kmarkers/bench.h>
#include "output.h"
#include "platform.h"
#include "run.h"

/* Largest s64 that can be multiplied by 1000 without an overflow. */
#define MOST_MILLI	(S64_MAX / 1000)

const char *const bench_cycles_names[] = {
	[BENCH_CYCLES_NONE] = "none",
	[BENCH_CYCLES_ESTIMATED] = "estimated",
	[BENCH_CYCLES_COUNTED] = "counted",
};

static const char *const measured_names[] = {
	[BENCH_LOOP] = "loop",
	[BENCH_SWITCH] = "switch",
	[BENCH_PART] = "part",
	[BENCH_GAP] = "gap",
	[BENCH_ROUNDS] = "rounds",
};

/*
 * Print the columns loops, sites, value, unit and core_cycles.  The unit "ticks" means ticks of the
 * TSC, which may be emulated.
 */
static void show_sample_value(struct seq_file *m, enum bench_measured measured,
			      const struct bench_sample *s)
{
	seq_printf(m, measured == BENCH_LOOP ? "%u,," : ",%u,", s->size);
	seq_printf(m, "%lld,%s,", (long long)s->value, measured == BENCH_ROUNDS ? "rounds" : "ticks");
	if (s->cycles)
		seq_printf(m, "%lld", (long long)s->cycles);
}

/* Return sample @number, counted from 0, or NULL if this sample was not taken yet. */
struct bench_sample *bench_get_sample(const struct bench_result *result, u64 number)
{
	/* Pairs with the release in measure_blocks(). */
	return number < smp_load_acquire(&result->nr) ? &result->samples[number] : NULL;
}

/*
 * If the duration of a group is limited, print the limit and the planned number of blocks, for the
 * file "env": a reader of the samples then knows how many planned blocks were not measured.
 */
void bench_show_time_limit(struct seq_file *m, const struct bench_group *group,
			   const struct bench_config *config)
{
	if (group->most_seconds)
		seq_printf(m, "planned:%s=%u blocks in %u s\n", group->name,
			   bench_count_planned_blocks(group, config), group->most_seconds);
}

/* Print the header of the CSV: the schema number and the names of the columns. */
void bench_show_csv_header(struct seq_file *m)
{
	seq_puts(m, "# schema=2\n");
	seq_puts(m, "benchmark,variant,measured,layout,block,position,cpu,loops,sites,value,unit,");
	seq_puts(m, "core_cycles,flags\n");
}

/* Print a sample as a line of CSV. */
void bench_show_sample(struct seq_file *m, const struct bench_group *group,
		       const struct bench_sample *s)
{
	const struct bench_variant *variant = &group->variants[s->variant];
	bool both = s->flags == (BENCH_PREEMPTED | BENCH_MIGRATED);

	seq_printf(m, "%s,%s,%s,%u,%u,%u,%u,", group->name, variant->name,
		   measured_names[variant->measured], s->layout, s->block, s->position, s->cpu);
	show_sample_value(m, variant->measured, s);
	seq_printf(m, ",%s%s%s\n", s->flags & BENCH_PREEMPTED ? "preempted" : "",
		   both ? "|" : "", s->flags & BENCH_MIGRATED ? "migrated" : "");
}

/**
 * bench_show_samples() - print the samples of all complete blocks, as CSV of schema 2
 * @m: output
 * @group: the group
 * @result: samples of the group
 *
 * The columns are described in Documentation/data.md.
 */
void bench_show_samples(struct seq_file *m, const struct bench_group *group,
			const struct bench_result *result)
{
	const struct bench_sample *sample;
	u64 i;

	bench_show_csv_header(m);
	for (i = 0; (sample = bench_get_sample(result, i)); i++)
		bench_show_sample(m, group, sample);
}

static int compare_slopes(const void *a, const void *b)
{
	s64 x = *(const s64 *)a, y = *(const s64 *)b;

	return x < y ? -1 : x > y;
}

/*
 * Return the slope of the least-squares line of time over loop count, in thousandths of a TSC tick
 * per loop iteration.  @windows are the BENCH_LOOP_COUNTS successive samples of a variant
 * in a block.  If the sums of products are too large for the division, the lowest bits of the sums
 * are dropped.  A slope that does not fit into s64 is clamped.
 */
static s64 compute_slope(const struct bench_sample *windows)
{
	__int128 top = 0, bottom = 0, ticks = 0;
	s64 loops = 0;
	unsigned int i;

	for (i = 0; i < BENCH_LOOP_COUNTS; i++) {
		ticks += windows[i].value;
		loops += windows[i].size;
	}
	for (i = 0; i < BENCH_LOOP_COUNTS; i++) {
		s64 away = (s64)windows[i].size * BENCH_LOOP_COUNTS - loops;

		top += away * ((__int128)windows[i].value * BENCH_LOOP_COUNTS - ticks);
		bottom += (__int128)away * away;
	}
	while (top > MOST_MILLI || top < -MOST_MILLI || bottom > S64_MAX) {
		top >>= 1;
		bottom >>= 1;
	}
	if (!bottom)
		return top < 0 ? -S64_MAX : S64_MAX;
	return div64_s64((s64)top * 1000, (s64)bottom);
}

static bool has_disturbed_window(const struct bench_sample *windows)
{
	unsigned int i;

	for (i = 0; i < BENCH_LOOP_COUNTS; i++)
		if (windows[i].flags)
			return true;
	return false;
}

static void print_thousandths_as_decimal(struct seq_file *m, s64 milli)
{
	u64 abs = milli < 0 ? -milli : milli;

	seq_printf(m, " %s%llu.%03u", milli < 0 ? "-" : "", (unsigned long long)(abs / 1000),
		   (unsigned int)(abs % 1000));
}

static unsigned int collect_slopes(const struct bench_result *result, unsigned int nr, u8 variant,
				   s64 *slopes, unsigned int *disturbed)
{
	unsigned int i, count = 0;

	*disturbed = 0;
	for (i = 0; i + BENCH_LOOP_COUNTS <= nr; i += BENCH_LOOP_COUNTS) {
		const struct bench_sample *windows = &result->samples[i];

		if (windows->variant != variant)
			continue;
		if (has_disturbed_window(windows))
			(*disturbed)++;
		else
			slopes[count++] = compute_slope(windows);
	}
	return count;
}

static int compare_samples_by_site_count(const void *a, const void *b)
{
	const struct bench_sample *x = *(const struct bench_sample *const *)a;
	const struct bench_sample *y = *(const struct bench_sample *const *)b;

	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	return x->value < y->value ? -1 : x->value > y->value;
}

/* Store the samples of a variant in @sorted, sorted by number of sites, then by value. */
static unsigned int collect_sorted_samples(const struct bench_result *result, unsigned int nr,
					   u8 variant, const struct bench_sample **sorted)
{
	unsigned int i, count = 0;

	for (i = 0; i < nr; i++)
		if (result->samples[i].variant == variant)
			sorted[count++] = &result->samples[i];
	sort(sorted, count, sizeof(*sorted), compare_samples_by_site_count, NULL);
	return count;
}

/* Print the median of each variant for each number of sites. */
static void show_medians_by_site_count(struct seq_file *m, const struct bench_group *group,
				       const struct bench_result *result, unsigned int nr,
				       const struct bench_sample **sorted)
{
	unsigned int variant, count, first, end;

	seq_puts(m, "variant sites samples median (TSC ticks)\n");
	for (variant = 0; variant < group->nr_variants; variant++) {
		cond_resched();
		count = collect_sorted_samples(result, nr, variant, sorted);
		for (first = 0; first < count && !seq_has_overflowed(m); first = end) {
			for (end = first; end < count; end++)
				if (sorted[end]->size != sorted[first]->size)
					break;
			seq_printf(m, "%s %u %u %lld\n", group->variants[variant].name,
				   sorted[first]->size, end - first,
				   (long long)sorted[first + (end - first) / 2]->value);
		}
	}
}

/**
 * bench_show_summary() - print minimum, median and maximum of each variant, in TSC ticks per loop
 * @m: output
 * @group: the group
 * @result: samples of the group
 *
 * If the group has a block function, print only medians, by variant and number of sites.
 *
 * The summary is for a quick look; "scripts/kmarkers report" computes statistics from the samples.
 *
 * Return: 0 or -ENOMEM.
 */
int bench_show_summary(struct seq_file *m, const struct bench_group *group,
		       const struct bench_result *result)
{
	/* Pairs with the release in measure_blocks(). */
	unsigned int i, count, disturbed, nr = smp_load_acquire(&result->nr);
	void *room = kvcalloc(nr + 1, sizeof(u64), BENCH_GFP);
	s64 *slopes = room;

	if (!room)
		return -ENOMEM;
	if (group->block) {
		show_medians_by_site_count(m, group, result, nr, room);
		kvfree(room);
		return 0;
	}
	seq_puts(m, "variant blocks disturbed min median max (TSC ticks per loop)\n");
	for (i = 0; i < group->nr_variants; i++) {
		s64 low = 0, median = 0, high = 0;

		cond_resched();
		count = collect_slopes(result, nr, i, slopes, &disturbed);
		if (count) {
			sort(slopes, count, sizeof(*slopes), compare_slopes, NULL);
			low = slopes[0];
			median = slopes[count / 2];
			high = slopes[count - 1];
		}
		seq_printf(m, "%s %u %u", group->variants[i].name, count, disturbed);
		print_thousandths_as_decimal(m, low);
		print_thousandths_as_decimal(m, median);
		print_thousandths_as_decimal(m, high);
		seq_puts(m, "\n");
	}
	kvfree(room);
	return 0;
}
