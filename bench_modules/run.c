// SPDX-License-Identifier: GPL-2.0-only
/* Measuring a group: the order in which variants run, and taking their samples. */
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
 * Windows begin up to so many cycles later than they would, at random: a clock that advances
 * in steps would otherwise be read at the same place of a step.  Steps are at most that long.
 */
#define MOST_DITHER	1024
/* The maximum number of samples of a block, for groups without a block function. */
#define BENCH_MOST_SAMPLES	(BENCH_MAX_BLOCKS * BENCH_MAX_VARIANTS * BENCH_LOOP_COUNTS)
/* The layouts n, n + 8 and so on begin in the same eighth of a cache line. */
#define EIGHTHS		8

/* The state of the random sequence of the run: there is one run at a time. */
static u64 sequence;

/* Next number of splitmix64 (Steele, Lea, Flood, 2014): any seed gives a good sequence. */
static u64 next_random(void)
{
	u64 z = sequence += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/**
 * bench_random() - a random number below @below, from the sequence of the run
 * @below: not 0
 *
 * Context: in the block function of a group.
 */
u32 bench_random(u32 below)
{
	return next_random() % below;
}

/* Make a random permutation of 0 .. n-1 (Fisher and Yates). */
static void permute(u8 *items, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		unsigned int j = next_random() % (i + 1);

		items[i] = items[j];
		items[j] = i;
	}
}

/**
 * struct plan - the order of variants, layouts and loop counts, determined by the seed alone
 * @loops: loop counts of each variant, ascending
 * @rows: permutation of the Latin square's rows
 * @columns: permutation of its columns
 * @symbols: permutation of its symbols
 * @layouts: order of layouts
 *
 * In n blocks every one of n variants stands at every position once: row r of
 * the cyclic Latin square is (r + c) mod n, with all three permuted anew for
 * each square.
 */
struct plan {
	u32 loops[BENCH_MAX_VARIANTS][BENCH_LOOP_COUNTS];
	u8 rows[BENCH_MAX_VARIANTS];
	u8 columns[BENCH_MAX_VARIANTS];
	u8 symbols[BENCH_MAX_VARIANTS];
	u8 layouts[BENCH_LAYOUTS];
};

static unsigned int layouts_of(const struct bench_group *group)
{
	return group->variants[0].nr_layouts;
}

/*
 * Order the layouts so that 8 blocks in a row have one of each eighth of a cache line: a run of
 * few blocks then has them all.  Which layout of an eighth comes first is random.
 */
static void plan_layouts(struct plan *plan, unsigned int nr)
{
	u8 eighths[EIGHTHS], turns[EIGHTHS][BENCH_LAYOUTS / EIGHTHS];
	unsigned int i, rounds = nr / EIGHTHS;

	if (nr % EIGHTHS) {
		permute(plan->layouts, nr);
		return;
	}
	for (i = 0; i < EIGHTHS; i++)
		permute(turns[i], rounds);
	for (i = 0; i < nr; i++) {
		if (i % EIGHTHS == 0)
			permute(eighths, EIGHTHS);
		plan->layouts[i] = eighths[i % EIGHTHS] +
				   EIGHTHS * turns[eighths[i % EIGHTHS]][i / EIGHTHS];
	}
}

static void plan_block(struct plan *plan, const struct bench_group *group, u32 block)
{
	unsigned int n = group->nr_variants;

	if (block % n == 0) {
		permute(plan->rows, n);
		permute(plan->columns, n);
		permute(plan->symbols, n);
	}
	if (block % layouts_of(group) == 0)
		plan_layouts(plan, layouts_of(group));
}

static u8 planned_variant(const struct plan *plan, unsigned int n, u32 block, unsigned int position)
{
	return plan->symbols[(plan->rows[block % n] + plan->columns[position]) % n];
}

/* Take a sample.  Return 0, or -ERANGE if the TSC went back. */
static int take_sample(bench_op *op, u64 ratio, struct bench_sample *sample)
{
	unsigned int cpu = raw_smp_processor_id();
	u64 switches = bench_count_switches();

	sample->value = op(sample->size);
	if ((s64)sample->value < 0)
		return -ERANGE;
	sample->cycles = sample->value * ratio >> BENCH_CYCLES_SHIFT;
	sample->cpu = cpu;
	sample->flags = 0;
	if (bench_count_switches() != switches)
		sample->flags |= BENCH_PREEMPTED;
	if (raw_smp_processor_id() != cpu)
		sample->flags |= BENCH_MIGRATED;
	return 0;
}

/*
 * Run a variant once per loop count, in random order, and store the samples; or once, if
 * @samples is NULL.
 */
static int run_variant(const struct bench_group *group, struct plan *plan, u64 ratio,
		       struct bench_sample sample, struct bench_sample *samples)
{
	bench_op *op = group->variants[sample.variant].op[sample.layout];
	int err = group->select ? group->select(sample.variant) : 0;
	u8 order[BENCH_LOOP_COUNTS];
	unsigned int i;

	permute(order, BENCH_LOOP_COUNTS);
	for (i = 0; i < (samples ? BENCH_LOOP_COUNTS : 1) && !err; i++) {
		sample.size = plan->loops[sample.variant][order[i]];
		bench_dither(next_random() % MOST_DITHER);
		err = take_sample(op, ratio, &sample);
		if (err)
			pr_err("%s: the TSC went back\n", group->name);
		else if (samples)
			samples[i] = sample;
	}
	return err;
}

/* Run every variant, as run_variant() does, at the layout of the block. */
static int run_block(const struct bench_group *group, struct plan *plan, u32 block,
		      struct bench_sample *samples)
{
	u8 layout = plan->layouts[block % layouts_of(group)];
	unsigned int position, n = group->nr_variants;
	u64 ratio = bench_cycles_ratio();
	int err = 0;

	for (position = 0; position < n && !err; position++) {
		struct bench_sample sample = {
			.block = block,
			.variant = planned_variant(plan, n, block, position),
			.layout = layout,
			.position = position,
		};

		err = run_variant(group, plan, ratio, sample,
				  samples ? samples + position * BENCH_LOOP_COUNTS : NULL);
	}
	return err;
}

static unsigned int samples_per_block(const struct bench_group *group)
{
	if (group->block)
		return group->block_samples();
	return group->nr_variants * BENCH_LOOP_COUNTS;
}

static u32 blocks_of(const struct bench_group *group, const struct bench_config *config)
{
	if (group->most_blocks && config->blocks > group->most_blocks)
		return group->most_blocks;
	return config->blocks;
}

/* Number of samples that a complete run of a group takes. */
u64 bench_planned(const struct bench_group *group, const struct bench_config *config)
{
	return (u64)blocks_of(group, config) * samples_per_block(group);
}

static int find_loops(const struct bench_group *group, struct plan *plan)
{
	unsigned int variant;
	int err = 0;

	for (variant = 0; variant < group->nr_variants && !err; variant++) {
		err = group->select ? group->select(variant) : 0;
		if (!err)
			err = bench_find_loops(group, variant, plan->loops[variant]);
		bench_pause();
	}
	return err;
}

/* Run every layout of every variant once, so that code and data are warm. */
static int warm_up(const struct bench_group *group, struct plan *plan)
{
	u32 block;
	int err = 0;

	for (block = 0; block < layouts_of(group) && !err; block++) {
		plan_block(plan, group, block);
		err = run_block(group, plan, block, NULL);
		bench_pause();
	}
	return err;
}

/* Run the block function of a group, and check that each of its samples is of a variant. */
static int own_block(const struct bench_group *group, u32 block, unsigned int step,
		     struct bench_sample *samples)
{
	int err = group->block(block, samples);
	unsigned int i;

	for (i = 0; i < step && !err; i++) {
		if (samples[i].variant < group->nr_variants)
			continue;
		pr_err("%s: a sample of variant %u, of %u variants\n", group->name,
		       samples[i].variant, group->nr_variants);
		err = -EINVAL;
	}
	return err;
}

static int any_block(const struct bench_group *group, struct plan *plan, u32 block,
		     unsigned int step, struct bench_sample *samples)
{
	if (group->block)
		return own_block(group, block, step, samples);
	plan_block(plan, group, block);
	return run_block(group, plan, block, samples);
}

static bool is_late(const struct bench_group *group, u64 start)
{
	return group->most_seconds &&
	       ktime_get_ns() - start > group->most_seconds * 1000000000ULL;
}

static int run_blocks(const struct bench_group *group, struct bench_result *result,
		      bool (*should_stop)(void))
{
	struct plan plan = { };
	u32 block, nr = result->planned / result->step;
	unsigned int step = result->step;
	int err = 0;
	u64 start;

	sequence = result->config.seed;
	if (!group->block) {
		/* setup() may have left out variants; samples were allocated for all of them. */
		step = samples_per_block(group);
		err = find_loops(group, &plan) ?: warm_up(group, &plan);
	}
	start = ktime_get_ns();
	for (block = 0; block < nr && !err; block++) {
		if (should_stop())
			return -EINTR;
		if (is_late(group, start))
			break;
		err = any_block(group, &plan, block, step, result->samples + result->nr);
		if (err)
			break;
		/* Pairs with the acquire in functions that show a run in progress. */
		smp_store_release(&result->nr, result->nr + step);
		bench_pause();
	}
	return err;
}

/**
 * bench_alloc_result() - allocate the samples of a run
 * @group: the group that will be measured
 * @config: checked by bench_check_config()
 * @result: filled in; its old samples are freed
 *
 * Context: may sleep; nobody else uses @result.
 * Return: 0; -EINVAL if blocks of the group have no samples, or -E2BIG if they have too many, of
 * which the log tells; or -ENOMEM.
 */
int bench_alloc_result(const struct bench_group *group, const struct bench_config *config,
		       struct bench_result *result)
{
	unsigned int step = samples_per_block(group);
	u64 planned = (u64)blocks_of(group, config) * step;

	bench_free_result(result);
	if (!step || planned > BENCH_MOST_SAMPLES) {
		pr_err("%s: %u blocks of %u samples, and a run has 1 to %u samples\n", group->name,
		       blocks_of(group, config), step, BENCH_MOST_SAMPLES);
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
 * @result: filled by bench_alloc_result(); may be read during the run
 * @should_stop: called before every block; true ends the run
 *
 * Context: may sleep; the caller has pinned the thread to a CPU.
 * Return: 0, -EINTR if stopped (with the complete blocks kept), or an error of the
 * group's setup, select or block function.
 */
int bench_run_group(const struct bench_group *group, struct bench_result *result,
		    bool (*should_stop)(void))
{
	int err = 0;

	if (group->setup)
		err = group->setup();
	if (err)
		return err;
	err = run_blocks(group, result, should_stop);
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
