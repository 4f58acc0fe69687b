// SPDX-License-Identifier: GPL-2.0-only
/* Measure a benchmark group: choose the order of its variants at random, and take their samples. */
#include <linux/errno.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/timekeeping.h>

#include <kmarkers/bench.h>
#include "cycles.h"
#include "loops.h"
#include "platform.h"
#include "run.h"

/*
 * Upper bound of the random delay before each timed window, in core cycles.  Some clocks advance in
 * steps of up to 1024 cycles.  The random delay lets windows begin at any point of a step.
 */
#define MOST_DITHER	1024
/*
 * Maximum number of samples of a run: the number of samples of the largest group that has no block
 * function.
 */
#define BENCH_MOST_SAMPLES	(BENCH_MAX_BLOCKS * BENCH_MAX_VARIANTS * BENCH_LOOP_COUNTS)
/*
 * Number of 8-byte sections of a cache line.  Layouts are copies of measured code; the layouts n,
 * n + 8, n + 16, ... begin in the same section.
 */
#define EIGHTHS		8

/* State of the random number generator.  No lock is needed, because there is one run at a time. */
static u64 sequence;

/*
 * Return the next number of the generator splitmix64 (Steele, Lea, Flood, 2014), which works with
 * any seed.
 */
static u64 draw_random_number(void)
{
	u64 z = sequence += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/**
 * bench_draw_random_below() - return a random number, which the seed of the run determines
 * @below: upper bound, exclusive; not 0
 *
 * Context: in the block function of a group.
 */
u32 bench_draw_random_below(u32 below)
{
	return draw_random_number() % below;
}

/* Fill @items with a random permutation of 0 .. n-1 (Fisher-Yates shuffle). */
static void fill_random_permutation(u8 *items, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		unsigned int j = draw_random_number() % (i + 1);

		items[i] = items[j];
		items[j] = i;
	}
}

/**
 * struct plan - loop counts, and the random order in which variants and layouts are measured
 * @loops: loop counts of each variant, ascending
 * @rows: permutation of the Latin square's rows
 * @columns: permutation of the Latin square's columns
 * @symbols: permutation of the Latin square's symbols
 * @layouts: order of the layouts (copies of the code at different addresses)
 *
 * A Latin square puts each of n variants at each of n positions once in n blocks.  Row r, column c
 * of the cyclic square is (r + c) mod n.  The rows, columns and symbols are permuted again after
 * every n blocks.
 */
struct plan {
	u32 loops[BENCH_MAX_VARIANTS][BENCH_LOOP_COUNTS];
	u8 rows[BENCH_MAX_VARIANTS];
	u8 columns[BENCH_MAX_VARIANTS];
	u8 symbols[BENCH_MAX_VARIANTS];
	u8 layouts[BENCH_LAYOUTS];
};

static unsigned int count_group_layouts(const struct bench_group *group)
{
	return group->variants[0].nr_layouts;
}

/*
 * Choose the order of @nr layouts.  If @nr is a multiple of 8, every 8 blocks use one layout in
 * each 8-byte section of a cache line.  So even a run of 8 blocks covers all sections.  The order
 * of the layouts that begin in one section is random.
 */
static void plan_layout_order(struct plan *plan, unsigned int nr)
{
	u8 eighths[EIGHTHS], turns[EIGHTHS][BENCH_LAYOUTS / EIGHTHS];
	unsigned int i, rounds = nr / EIGHTHS;

	if (nr % EIGHTHS) {
		fill_random_permutation(plan->layouts, nr);
		return;
	}
	for (i = 0; i < EIGHTHS; i++)
		fill_random_permutation(turns[i], rounds);
	for (i = 0; i < nr; i++) {
		if (i % EIGHTHS == 0)
			fill_random_permutation(eighths, EIGHTHS);
		plan->layouts[i] = eighths[i % EIGHTHS] +
				   EIGHTHS * turns[eighths[i % EIGHTHS]][i / EIGHTHS];
	}
}

static void plan_block_order(struct plan *plan, const struct bench_group *group, u32 block)
{
	unsigned int n = group->nr_variants;

	if (block % n == 0) {
		fill_random_permutation(plan->rows, n);
		fill_random_permutation(plan->columns, n);
		fill_random_permutation(plan->symbols, n);
	}
	if (block % count_group_layouts(group) == 0)
		plan_layout_order(plan, count_group_layouts(group));
}

static u8 pick_variant(const struct plan *plan, unsigned int n, u32 block, unsigned int position)
{
	return plan->symbols[(plan->rows[block % n] + plan->columns[position]) % n];
}

/* Measure the time of one window of a variant.  Return 0, or -ERANGE if the TSC went backwards. */
static int time_window(bench_op *op, u64 cycles_per_tick, struct bench_sample *sample)
{
	unsigned int cpu = raw_smp_processor_id();
	u64 switches = bench_count_context_switches();

	sample->value = op(sample->size);
	if ((s64)sample->value < 0)
		return -ERANGE;
	sample->cycles = sample->value * cycles_per_tick >> BENCH_CYCLES_SHIFT;
	sample->cpu = cpu;
	sample->flags = 0;
	if (bench_count_context_switches() != switches)
		sample->flags |= BENCH_PREEMPTED;
	if (raw_smp_processor_id() != cpu)
		sample->flags |= BENCH_MIGRATED;
	return 0;
}

/*
 * Measure a variant at each loop count, in random order, and store the samples.  If @samples is
 * NULL (warm-up), measure the variant at only one loop count, and store nothing.
 */
static int time_variant(const struct bench_group *group, struct plan *plan, u64 cycles_per_tick,
			struct bench_sample sample, struct bench_sample *samples)
{
	bench_op *op = group->variants[sample.variant].op[sample.layout];
	int err = group->select ? group->select(sample.variant) : 0;
	u8 order[BENCH_LOOP_COUNTS];
	unsigned int i;

	fill_random_permutation(order, BENCH_LOOP_COUNTS);
	for (i = 0; i < (samples ? BENCH_LOOP_COUNTS : 1) && !err; i++) {
		sample.size = plan->loops[sample.variant][order[i]];
		bench_delay(draw_random_number() % MOST_DITHER);
		err = time_window(op, cycles_per_tick, &sample);
		if (err)
			pr_err("benchmark %s: run failed: the TSC went backwards\n", group->name);
		else if (samples)
			samples[i] = sample;
	}
	return err;
}

/* Measure each variant once, in the order and at the layout that the plan has for this block. */
static int time_variants_of_block(const struct bench_group *group, struct plan *plan, u32 block,
				  struct bench_sample *samples)
{
	u8 layout = plan->layouts[block % count_group_layouts(group)];
	unsigned int position, n = group->nr_variants;
	u64 cycles_per_tick = bench_measure_cycles_per_tick();
	int err = 0;

	for (position = 0; position < n && !err; position++) {
		struct bench_sample sample = {
			.block = block,
			.variant = pick_variant(plan, n, block, position),
			.layout = layout,
			.position = position,
		};

		err = time_variant(group, plan, cycles_per_tick, sample,
				   samples ? samples + position * BENCH_LOOP_COUNTS : NULL);
	}
	return err;
}

static unsigned int count_block_samples(const struct bench_group *group)
{
	if (group->block)
		return group->block_samples();
	return group->nr_variants * BENCH_LOOP_COUNTS;
}

/* Return the number of blocks that a complete run of a group has. */
u32 bench_count_planned_blocks(const struct bench_group *group, const struct bench_config *config)
{
	if (group->most_blocks && config->blocks > group->most_blocks)
		return group->most_blocks;
	return config->blocks;
}

/* Return the number of samples that a complete run of a group takes. */
u64 bench_count_planned_samples(const struct bench_group *group, const struct bench_config *config)
{
	return (u64)bench_count_planned_blocks(group, config) * count_block_samples(group);
}

static int find_loop_counts_of_variants(const struct bench_group *group, struct plan *plan)
{
	unsigned int variant;
	int err = 0;

	for (variant = 0; variant < group->nr_variants && !err; variant++) {
		err = group->select ? group->select(variant) : 0;
		if (!err)
			err = bench_find_loop_counts(group, variant, plan->loops[variant]);
		bench_let_tasks_run();
	}
	return err;
}

/* Execute every layout of every variant once, to load code and data into the caches. */
static int warm_up_variants(const struct bench_group *group, struct plan *plan)
{
	u32 block;
	int err = 0;

	for (block = 0; block < count_group_layouts(group) && !err; block++) {
		plan_block_order(plan, group, block);
		err = time_variants_of_block(group, plan, block, NULL);
		bench_let_tasks_run();
	}
	return err;
}

/*
 * Run the block function of a group, and check that the variant numbers of all samples are valid.
 */
static int run_custom_block_function(const struct bench_group *group, u32 block, unsigned int step,
				     struct bench_sample *samples)
{
	int err = group->block(block, samples);
	unsigned int i;

	for (i = 0; i < step && !err; i++) {
		if (samples[i].variant < group->nr_variants)
			continue;
		pr_err("benchmark %s: run failed: a sample has variant %u, but there are %u variants\n",
		       group->name, samples[i].variant, group->nr_variants);
		err = -EINVAL;
	}
	return err;
}

static int measure_block(const struct bench_group *group, struct plan *plan, u32 block,
			 unsigned int step, struct bench_sample *samples)
{
	if (group->block)
		return run_custom_block_function(group, block, step, samples);
	plan_block_order(plan, group, block);
	return time_variants_of_block(group, plan, block, samples);
}

static bool is_group_time_up(const struct bench_group *group, u64 start)
{
	return group->most_seconds &&
	       ktime_get_ns() - start > group->most_seconds * 1000000000ULL;
}

static int measure_blocks(const struct bench_group *group, struct bench_result *result,
			  bool (*should_stop)(void))
{
	struct plan plan = { };
	u32 block, nr = result->planned / result->step;
	unsigned int step = result->step;
	int err = 0;
	u64 start;

	sequence = result->config.seed;
	if (!group->block) {
		/*
		 * After the samples were allocated for all variants, setup() may have reduced
		 * nr_variants.  So recount the samples of a block.
		 */
		step = count_block_samples(group);
		err = find_loop_counts_of_variants(group, &plan) ?: warm_up_variants(group, &plan);
	}
	start = ktime_get_ns();
	for (block = 0; block < nr && !err; block++) {
		if (should_stop())
			return -EINTR;
		if (is_group_time_up(group, start))
			break;
		err = measure_block(group, &plan, block, step, result->samples + result->nr);
		if (err)
			break;
		/*
		 * Pairs with smp_load_acquire() in the functions that print samples during a run.
		 */
		smp_store_release(&result->nr, result->nr + step);
		bench_let_tasks_run();
	}
	return err;
}

/**
 * bench_alloc_result() - allocate the samples of a run
 * @group: the group that will be measured
 * @config: configuration that bench_check_config() accepted
 * @result: filled in; old samples in it are freed
 *
 * Context: may sleep; the caller has exclusive access to @result.
 * Return: 0; -ENOMEM; or, after logging the numbers, -EINVAL if a block has no samples, or -E2BIG
 * if the run would have too many samples.
 */
int bench_alloc_result(const struct bench_group *group, const struct bench_config *config,
		       struct bench_result *result)
{
	unsigned int step = count_block_samples(group);
	u64 planned = (u64)bench_count_planned_blocks(group, config) * step;

	bench_free_result(result);
	if (!step || planned > BENCH_MOST_SAMPLES) {
		pr_err("benchmark %s: not started: %u blocks of %u samples each, but a run must have 1 to %u samples in total\n",
		       group->name, bench_count_planned_blocks(group, config), step,
		       BENCH_MOST_SAMPLES);
		return step ? -E2BIG : -EINVAL;
	}
	result->samples = kvcalloc(planned, sizeof(*result->samples), BENCH_GFP);
	if (!result->samples)
		return -ENOMEM;
	result->planned = planned;
	result->step = step;
	result->config = *config;
	return 0;
}

/**
 * bench_run_group() - measure a group
 * @group: the group
 * @result: allocated by bench_alloc_result(); other threads may read it during the run
 * @should_stop: called before every block; true ends the run
 *
 * Context: may sleep; the caller has pinned the thread to a CPU.
 * Return: 0; -EINTR if @should_stop ended the run (complete blocks are kept); -ERANGE if the TSC
 * went backwards; or an error of bench_find_loop_counts() or of the group's setup, select or block
 * function.
 */
int bench_run_group(const struct bench_group *group, struct bench_result *result,
		    bool (*should_stop)(void))
{
	int err = 0;

	if (group->setup)
		err = group->setup();
	if (err)
		return err;
	err = measure_blocks(group, result, should_stop);
	if (!err)
		result->planned = result->nr;
	if (group->teardown)
		group->teardown();
	return err;
}

void bench_free_result(struct bench_result *result)
{
	kvfree(result->samples);
	memset(result, 0, sizeof(*result));
}

/**
 * bench_check_config() - check the configuration of a run
 * @config: the configuration
 * @nr_cpus: number of CPUs
 *
 * Return: 0 or -EINVAL.
 */
int bench_check_config(const struct bench_config *config, u32 nr_cpus)
{
	if (!config->blocks || config->blocks > BENCH_MAX_BLOCKS)
		return -EINVAL;
	return config->cpu < nr_cpus ? 0 : -EINVAL;
}
