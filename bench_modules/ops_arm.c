// SPDX-License-Identifier: GPL-2.0-only
/*
 * arm-scaling: the time to switch sites, by their number and by the way of switching;
 * for sites of ours in one batch also the parts of that time.  arm-stall: the longest
 * gap that another CPU, which executes no site, sees while many sites are switched.
 *
 * A sample is of one switch, and its size is the number of sites.  Variants that
 * end in -stall hold the longest gap.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/processor.h>
#include <linux/smp.h>
#include <linux/timekeeping.h>

#include <kmarkers/patcher.h>

#include "bystander.h"
#include "bystander_thread.h"
#include "ops.h"
#include "sites.h"
#include "sites_module.h"

#ifdef __KERNEL__
#define MOST_ONE_BY_ONE	10000
#define WAYS_HERE	SITES_WAYS
#else
#define MOST_ONE_BY_ONE	1000
#define WAYS_HERE	(SITES_ONE_BY_ONE + 1)
#endif

/* The batch size of most interest in user space, as ten thousand is in the kernel. */
#define EXTRA_SIZE	4096
#define STALL_SIZE	10000

static const u32 sizes[] = { 1, 10, 100, 1000, EXTRA_SIZE, 10000, SITES_MOST };

/* The largest size of each way: ways that take seconds are not measured at the largest sizes. */
static const u32 most[SITES_WAYS] = {
	[SITES_BATCHED] = SITES_MOST,
	[SITES_CHUNKED] = SITES_MOST,
	[SITES_ONE_BY_ONE] = MOST_ONE_BY_ONE,
	[SITES_KEY_ONE] = SITES_KEYS,
	[SITES_KEYS_MANY] = SITES_KEYS,
	[SITES_STOP_MACHINE] = SITES_MOST,
};

/* Variants of arm-scaling after the first ones, which are time and stall of each way. */
enum {
	VALIDATE = 2 * WAYS_HERE,
	MAP,
	ROUNDS,
	ROUND_COUNT,
};

static const struct bench_variant scaling_variants[] = {
	{ .name = "batched", .measured = BENCH_SWITCH },
	{ .name = "batched-stall", .measured = BENCH_GAP },
	{ .name = "batched-chunk-1000", .measured = BENCH_SWITCH },
	{ .name = "batched-chunk-1000-stall", .measured = BENCH_GAP },
	{ .name = "one-by-one", .measured = BENCH_SWITCH },
	{ .name = "one-by-one-stall", .measured = BENCH_GAP },
#ifdef __KERNEL__
	{ .name = "static-key-one", .measured = BENCH_SWITCH },
	{ .name = "static-key-one-stall", .measured = BENCH_GAP },
	{ .name = "static-keys-many", .measured = BENCH_SWITCH },
	{ .name = "static-keys-many-stall", .measured = BENCH_GAP },
	{ .name = "stop-machine", .measured = BENCH_SWITCH },
	{ .name = "stop-machine-stall", .measured = BENCH_GAP },
#endif
	{ .name = "batched-validate", .measured = BENCH_PART },
	{ .name = "batched-map", .measured = BENCH_PART },
	{ .name = "batched-rounds", .measured = BENCH_PART },
	{ .name = "batched-round-count", .measured = BENCH_ROUNDS },
};

enum {
	STALL_IDLE,
	STALL_BATCHED,
	STALL_STOPPED,
};

static const struct bench_variant stall_variants[] = {
	{ .name = "idle-stall", .measured = BENCH_GAP },
	{ .name = "batched-stall", .measured = BENCH_GAP },
#ifdef __KERNEL__
	{ .name = "stop-machine-stall", .measured = BENCH_GAP },
#endif
};

/**
 * struct window - the measurement of one switch
 * @ticks: duration of the switch in TSC ticks
 * @ns: its duration in nanoseconds, to convert the patcher's counters, which are in ns
 * @gap: the bystander's longest gap, in ticks
 */
struct window {
	u64 ticks;
	u64 ns;
	u64 gap;
};

static const struct bench_sites *sites;

/*
 * Set up the sites, then start the bystander: nothing may wait for RCU beside the
 * bystander, which may keep RCU from making progress.
 */
static int setup_arm(bool first)
{
	int err;

	sites = bench_get_sites();
	if (!sites)
		return -ENODEV;
	err = sites->setup();
	if (err)
		goto err_put;
	err = bench_bystander_start(first);
	if (err)
		goto err_sites;
	return 0;

err_sites:
	sites->teardown();
err_put:
	bench_put_sites();
	return err;
}

static void teardown_arm(void)
{
	bench_bystander_stop();
	sites->teardown();
	bench_put_sites();
}

static int setup_scaling(void)
{
	return setup_arm(false);
}

static int setup_stall(void)
{
	return setup_arm(true);
}

static int take_window(enum sites_way way, u32 nr, bool on, struct window *window)
{
	u64 ns, start;
	int err;

	bench_bystander_gap();
	ns = ktime_get_ns();
	start = bench_tsc();
	err = sites->set(way, nr, on);
	window->ticks = bench_tsc() - start;
	window->ns = ktime_get_ns() - ns;
	window->gap = bench_bystander_gap();
	return err;
}

/* Measure the bystander's gap while nothing is switched, for a given number of ticks. */
static void take_idle_window(u64 ticks, struct window *window)
{
	u64 start;

	bench_bystander_gap();
	start = bench_tsc();
	while (bench_tsc() - start < ticks)
		cpu_relax();
	window->gap = bench_bystander_gap();
}

/* The position at which the next sample of a block is stored, and fields common to all. */
struct sink {
	struct bench_sample *next;
	u32 block;
	u8 position;
};

static void put_sample(struct sink *sink, u8 variant, u32 nr, u64 value)
{
	*sink->next++ = (struct bench_sample) {
		.value = value,
		.block = sink->block,
		.size = nr,
		.cpu = raw_smp_processor_id(),
		.variant = variant,
		.position = sink->position,
	};
}

static void put_parts(struct sink *sink, u32 nr, const struct window *window,
		      const struct patcher_stats *before, const struct patcher_stats *after)
{
	u64 ns = window->ns ?: 1;

	put_sample(sink, VALIDATE, nr,
		   div64_u64((after->check_ns - before->check_ns) * window->ticks, ns));
	put_sample(sink, MAP, nr, div64_u64((after->map_ns - before->map_ns) * window->ticks, ns));
	put_sample(sink, ROUNDS, nr,
		   div64_u64((after->apply_ns - before->apply_ns) * window->ticks, ns));
	put_sample(sink, ROUND_COUNT, nr, after->rounds - before->rounds);
}

static bool has_size(enum sites_way way, u32 nr)
{
	return nr <= most[way] && (nr != EXTRA_SIZE || way == SITES_BATCHED);
}

static int measure_size(struct sink *sink, enum sites_way way, u32 nr, bool on)
{
	struct patcher_stats before, after;
	struct window window;
	int err;

	patcher_read_stats(&before);
	err = take_window(way, nr, on, &window);
	patcher_read_stats(&after);
	put_sample(sink, 2 * way, nr, window.ticks);
	put_sample(sink, 2 * way + 1, nr, window.gap);
	if (way == SITES_BATCHED)
		put_parts(sink, nr, &window, &before, &after);
	bench_pause();
	return err;
}

/* Static keys take long, so they are switched on in one block and off in the next. */
static bool takes_turns(enum sites_way way)
{
	return way == SITES_KEY_ONE || way == SITES_KEYS_MANY;
}

static int measure_way(struct sink *sink, enum sites_way way)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < ARRAY_SIZE(sizes) && !err; i++) {
		if (!has_size(way, sizes[i]))
			continue;
		err = measure_size(sink, way, sizes[i], !takes_turns(way) || !(sink->block & 1));
		if (!err && way == SITES_ONE_BY_ONE)
			err = sites->set(SITES_BATCHED, sizes[i], false);
		else if (!err && !takes_turns(way))
			err = measure_size(sink, way, sizes[i], false);
	}
	return err;
}

/* Number of switches of each size in a block. */
static unsigned int switches(enum sites_way way)
{
	return way == SITES_ONE_BY_ONE || takes_turns(way) ? 1 : 2;
}

static unsigned int scaling_samples(void)
{
	unsigned int i, way, sum = 0;

	for (way = 0; way < WAYS_HERE; way++)
		for (i = 0; i < ARRAY_SIZE(sizes); i++)
			if (has_size(way, sizes[i]))
				sum += switches(way) * (way == SITES_BATCHED ? 6 : 2);
	return sum;
}

/* Measure every way, beginning with another one in each block. */
static int scaling_block(u32 block, struct bench_sample *samples)
{
	struct sink sink = { .next = samples, .block = block };
	int err = 0;

	for (; sink.position < WAYS_HERE && !err; sink.position++)
		err = measure_way(&sink, (sink.position + block) % WAYS_HERE);
	return err;
}

const struct bench_group bench_arm_scaling = {
	.name = "arm-scaling",
	.variants = scaling_variants,
	.nr_variants = ARRAY_SIZE(scaling_variants),
	.setup = setup_scaling,
	.lacks = "no second CPU can be had for its bystander",
	.teardown = teardown_arm,
	.block = scaling_block,
	.block_samples = scaling_samples,
	.most_blocks = 8,
	.most_seconds = 40,
};

static unsigned int stall_samples(void)
{
	return ARRAY_SIZE(stall_variants);
}

static int measure_stall(struct sink *sink, unsigned int variant, bool on)
{
	static u64 last_batch;
	struct window window;
	int err = 0;

	if (variant == STALL_IDLE)
		take_idle_window(last_batch, &window);
	else
		err = take_window(variant == STALL_BATCHED ? SITES_BATCHED : SITES_STOP_MACHINE,
				  STALL_SIZE, on, &window);
	if (variant == STALL_BATCHED)
		last_batch = window.ticks;
	put_sample(sink, variant, STALL_SIZE, window.gap);
	bench_pause();
	return err;
}

static int stall_block(u32 block, struct bench_sample *samples)
{
	struct sink sink = { .next = samples, .block = block };
	unsigned int n = ARRAY_SIZE(stall_variants);
	int err = 0;

	for (; sink.position < n && !err; sink.position++)
		err = measure_stall(&sink, (sink.position + block + 1) % n, !(block & 1));
	return err;
}

const struct bench_group bench_arm_stall = {
	.name = "arm-stall",
	.variants = stall_variants,
	.nr_variants = ARRAY_SIZE(stall_variants),
	.setup = setup_stall,
	.lacks = "no second CPU can be had for its bystander",
	.teardown = teardown_arm,
	.block = stall_block,
	.block_samples = stall_samples,
	.most_blocks = 40,
	.most_seconds = 20,
};
