// SPDX-License-Identifier: GPL-2.0-only
/*
 * arm-scaling: the time to switch patch sites on or off, by method and number of sites.  For a
 * single batch of the patcher, the time of each phase of the batch is measured, too.
 *
 * arm-stall: the longest gap on the observer CPU (see observer.h) while many sites are switched.
 *
 * A sample is a measurement of one switch and holds the number of switched sites.  In variants
 * named *-stall, the value is the longest gap on the observer CPU during the switch.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/processor.h>
#include <linux/smp.h>
#include <linux/timekeeping.h>

#include <kmarkers/patcher.h>

#include "observer.h"
#include "observer_thread.h"
#include "ops.h"
#include "run.h"
#include "sites.h"
#include "sites_module.h"

#ifdef __KERNEL__
#define MOST_ONE_BY_ONE	10000
#define MOST_BLOCKS	8
#else
#define MOST_ONE_BY_ONE	1000
/* Maximum number of blocks in a process.  A run in user space has many processes. */
#define MOST_BLOCKS	2
#endif

/* Only the method SITES_BATCHED is measured with 4096 sites. */
#define EXTRA_SIZE	4096
#define STALL_SIZE	10000
/* Number of rounds of a batch: in each round, the patcher interrupts all other CPUs once. */
#define BATCH_ROUNDS	3
#define LARGE		100000

static const u32 sizes[] = {
	1, 10, 100, 1000, EXTRA_SIZE, 10000, LARGE,
#if SITES_MOST > LARGE
	SITES_MOST,
#endif
};

enum {
	BATCHED, BATCHED_OFF, BATCHED_GAP,
	CHUNKED, CHUNKED_OFF, CHUNKED_GAP,
	ONE_BY_ONE, ONE_BY_ONE_GAP,
#ifdef __KERNEL__
	KEY_ONE, KEY_ONE_GAP,
	KEYS_MANY, KEYS_MANY_GAP,
	STOPPED, STOPPED_OFF, STOPPED_GAP,
#else
	STORES, BY_HAND,
#endif
	VALIDATE, MAP, ROUNDS, ROUND_COUNT,
};

static const struct bench_variant scaling_variants[] = {
	[BATCHED] = { .name = "batched", .measured = BENCH_SWITCH },
	[BATCHED_OFF] = { .name = "batched-off", .measured = BENCH_SWITCH },
	[BATCHED_GAP] = { .name = "batched-stall", .measured = BENCH_GAP },
	[CHUNKED] = { .name = "batched-chunk-1000", .measured = BENCH_SWITCH },
	[CHUNKED_OFF] = { .name = "batched-chunk-1000-off", .measured = BENCH_SWITCH },
	[CHUNKED_GAP] = { .name = "batched-chunk-1000-stall", .measured = BENCH_GAP },
	[ONE_BY_ONE] = { .name = "one-by-one", .measured = BENCH_SWITCH },
	[ONE_BY_ONE_GAP] = { .name = "one-by-one-stall", .measured = BENCH_GAP },
#ifdef __KERNEL__
	[KEY_ONE] = { .name = "static-key-one", .measured = BENCH_SWITCH },
	[KEY_ONE_GAP] = { .name = "static-key-one-stall", .measured = BENCH_GAP },
	[KEYS_MANY] = { .name = "static-keys-many", .measured = BENCH_SWITCH },
	[KEYS_MANY_GAP] = { .name = "static-keys-many-stall", .measured = BENCH_GAP },
	[STOPPED] = { .name = "stop-machine", .measured = BENCH_SWITCH },
	[STOPPED_OFF] = { .name = "stop-machine-off", .measured = BENCH_SWITCH },
	[STOPPED_GAP] = { .name = "stop-machine-stall", .measured = BENCH_GAP },
#else
	[STORES] = { .name = "stores-alone", .measured = BENCH_SWITCH },
	[BY_HAND] = { .name = "rounds-by-hand", .measured = BENCH_SWITCH },
#endif
	[VALIDATE] = { .name = "batched-validate", .measured = BENCH_PART },
	[MAP] = { .name = "batched-map", .measured = BENCH_PART },
	[ROUNDS] = { .name = "batched-rounds", .measured = BENCH_PART },
	[ROUND_COUNT] = { .name = "batched-round-count", .measured = BENCH_ROUNDS },
};

#define PARTS	4	/* number of variants from VALIDATE to ROUND_COUNT */
#define NONE	0xff
/**
 * struct method - a method to switch sites, and the variants that measure it
 * @id: the method
 * @most: maximum number of sites; some methods would take seconds to switch more sites
 * @on: variant that measures the time to switch sites on
 * @off: variant that measures the time to switch sites off again, or NONE
 * @gap: variant that measures the longest gap during the switch that @on measures, or NONE
 * @alternates: true if a switch takes long: then @on measures switching sites on in even blocks,
 *	and switching sites off in odd blocks
 */
struct method {
	enum sites_method id;
	u32 most;
	u8 on, off, gap;
	bool alternates;
};

static const struct method methods[] = {
	{ SITES_BATCHED, SITES_MOST, BATCHED, BATCHED_OFF, BATCHED_GAP },
	{ SITES_CHUNKED, LARGE, CHUNKED, CHUNKED_OFF, CHUNKED_GAP },
	{ SITES_ONE_BY_ONE, MOST_ONE_BY_ONE, ONE_BY_ONE, NONE, ONE_BY_ONE_GAP },
#ifdef __KERNEL__
	{ SITES_KEY_ONE, SITES_KEYS, KEY_ONE, NONE, KEY_ONE_GAP, .alternates = true },
	{ SITES_KEYS_MANY, SITES_KEYS, KEYS_MANY, NONE, KEYS_MANY_GAP, .alternates = true },
	{ SITES_STOP_MACHINE, LARGE, STOPPED, STOPPED_OFF, STOPPED_GAP },
#else
	{ SITES_STORES, SITES_MOST, STORES, NONE, NONE },
	{ SITES_BY_HAND, 1, BY_HAND, NONE, NONE },
#endif
};

#define MOST_PAIRS	(ARRAY_SIZE(methods) * ARRAY_SIZE(sizes))

enum {
	STALL_IDLE,
	STALL_BATCHED,
	STALL_STOPPED,
	STALL_INTERRUPTS,
};

static const struct bench_variant stall_variants[] = {
	{ .name = "idle-stall", .measured = BENCH_GAP },
	{ .name = "batched-stall", .measured = BENCH_GAP },
#ifdef __KERNEL__
	{ .name = "stop-machine-stall", .measured = BENCH_GAP },
	{ .name = "interrupts-stall", .measured = BENCH_GAP },
#endif
};

/**
 * struct window - the measurement of one switch
 * @ticks: duration of the switch in TSC ticks
 * @ns: duration of the switch in ns, to convert the patcher's counters from ns to ticks
 * @gap: longest gap on the observer CPU, in TSC ticks
 */
struct window {
	u64 ticks;
	u64 ns;
	u64 gap;
};

static const struct bench_sites *sites;

/*
 * Set up the sites before the observer thread starts, because the setup may wait for an RCU grace
 * period, whose end the observer thread could delay.
 */
static int setup_sites_and_observer(bool realtime)
{
	int err;

	sites = bench_get_sites_module();
	if (!sites)
		return -ENODEV;
	err = sites->setup();
	if (err)
		goto err_put;
	err = bench_observer_start(realtime);
	if (err)
		goto err_sites;
	return 0;

err_sites:
	sites->teardown();
err_put:
	bench_put_sites_module();
	return err;
}

static void teardown_sites_and_observer(void)
{
	bench_observer_stop();
	sites->teardown();
	bench_put_sites_module();
}

static int setup_scaling_benchmark(void)
{
	return setup_sites_and_observer(false);
}

static int setup_stall_benchmark(void)
{
	return setup_sites_and_observer(true);
}

/*
 * Switch the first @nr sites by a method: on if @on is true, else off.  Store the duration and the
 * longest gap in @window.
 */
static int measure_site_switch(enum sites_method method, u32 nr, bool on, struct window *window)
{
	u64 ns, start;
	int err;

	bench_observer_read_gap();
	ns = ktime_get_ns();
	start = bench_read_tsc();
	err = sites->set(method, nr, on);
	window->ticks = bench_read_tsc() - start;
	window->ns = ktime_get_ns() - ns;
	window->gap = bench_observer_read_gap();
	return err;
}

static void spin_for_ticks(u64 ticks)
{
	u64 start = bench_read_tsc();

	while (bench_read_tsc() - start < ticks)
		cpu_relax();
}

#ifdef __KERNEL__
static void ignore_interrupt(void *unused)
{
}

static void interrupt_observer_cpu(void)
{
	smp_call_function_single(bench_observer_get_gap_cpu(), ignore_interrupt, NULL, 1);
}
#else
static void interrupt_observer_cpu(void)
{
}
#endif

/*
 * Measure the longest gap on the observer CPU during @ticks TSC ticks in which no site is switched
 * and the observer CPU is interrupted @interrupts times, at equal intervals.
 */
static void measure_gap_without_switch(u64 ticks, u32 interrupts, struct window *window)
{
	u32 i;

	bench_observer_read_gap();
	for (i = 0; i < interrupts; i++) {
		spin_for_ticks(div64_u64(ticks, interrupts + 1));
		interrupt_observer_cpu();
	}
	spin_for_ticks(div64_u64(ticks, interrupts + 1));
	window->gap = bench_observer_read_gap();
}

/*
 * Input of store_sample(): address of the next sample, variants of the group, number of the block,
 * and position of the next sample in the block.
 */
struct sink {
	struct bench_sample *next;
	const struct bench_variant *variants;
	u32 block;
	u8 position;
};

/*
 * Store a sample.  Set its member cpu to the observer CPU if the value is a gap (longest
 * interruption), else to the current CPU.
 */
static void store_sample(struct sink *sink, u8 variant, u32 nr, u64 value)
{
	bool gap = sink->variants[variant].measured == BENCH_GAP;

	*sink->next++ = (struct bench_sample) {
		.block = sink->block, .position = sink->position, .variant = variant,
		.size = nr, .value = value,
		.cpu = gap ? bench_observer_get_gap_cpu() : raw_smp_processor_id(),
	};
}

static void store_phase_samples(struct sink *sink, u32 nr, const struct window *window,
				const struct patcher_stats *before,
				const struct patcher_stats *after)
{
	u64 ns = window->ns ?: 1;

	store_sample(sink, VALIDATE, nr,
		     div64_u64((after->check_ns - before->check_ns) * window->ticks, ns));
	store_sample(sink, MAP, nr,
		     div64_u64((after->map_ns - before->map_ns) * window->ticks, ns));
	store_sample(sink, ROUNDS, nr,
		     div64_u64((after->apply_ns - before->apply_ns) * window->ticks, ns));
	store_sample(sink, ROUND_COUNT, nr, after->rounds - before->rounds);
}

static bool is_site_count_measured(const struct method *method, u32 nr)
{
	return nr <= method->most && (nr != EXTRA_SIZE || method->id == SITES_BATCHED);
}

/* Return the number of samples of one method in a block, for one number of sites. */
static unsigned int count_method_samples(const struct method *method)
{
	return 1 + (method->off != NONE) + (method->gap != NONE) +
	       (method->id == SITES_BATCHED) * PARTS;
}

/*
 * Switch sites on, and store the samples.  In odd blocks, switch sites off instead if
 * @method->alternates is true.
 */
static int measure_enabling_sites(struct sink *sink, const struct method *method, u32 nr)
{
	struct patcher_stats before, after;
	struct window window;
	int err;

	patcher_read_stats(&before);
	err = measure_site_switch(method->id, nr, !method->alternates || !(sink->block & 1),
				  &window);
	patcher_read_stats(&after);
	store_sample(sink, method->on, nr, window.ticks);
	if (method->gap != NONE)
		store_sample(sink, method->gap, nr, window.gap);
	if (method->id == SITES_BATCHED)
		store_phase_samples(sink, nr, &window, &before, &after);
	bench_let_tasks_run();
	return err;
}

/* Switch sites off.  Store a sample if the method has a variant for that (@method->off). */
static int measure_disabling_sites(struct sink *sink, const struct method *method, u32 nr)
{
	struct window window;
	int err;

	if (method->id == SITES_ONE_BY_ONE)
		return sites->set(SITES_BATCHED, nr, false);
	if (method->off == NONE)
		return 0;
	err = measure_site_switch(method->id, nr, false, &window);
	store_sample(sink, method->off, nr, window.ticks);
	bench_let_tasks_run();
	return err;
}

/*
 * Collect the pairs of a method methods[m] and a number of sites sizes[s] that are measured.  Store
 * each pair as m * ARRAY_SIZE(sizes) + s.  Return the number of pairs.
 */
static unsigned int collect_measured_pairs(u8 *pairs)
{
	unsigned int i, nr = 0;

	for (i = 0; i < MOST_PAIRS; i++)
		if (is_site_count_measured(&methods[i / ARRAY_SIZE(sizes)],
					   sizes[i % ARRAY_SIZE(sizes)]))
			pairs[nr++] = i;
	return nr;
}

static unsigned int count_scaling_samples(void)
{
	unsigned int nr, sum = 0;
	u8 pairs[MOST_PAIRS];

	for (nr = collect_measured_pairs(pairs); nr; nr--)
		sum += count_method_samples(&methods[pairs[nr - 1] / ARRAY_SIZE(sizes)]);
	return sum;
}

/*
 * Measure every pair of a method and a number of sites.  The order is random, because the previous
 * measurement determines which data are in the caches.  Before the first block, switch all sites on
 * and off once without a measurement.
 */
static int measure_scaling_block(u32 block, struct bench_sample *samples)
{
	struct sink sink = { .next = samples, .variants = scaling_variants, .block = block };
	u8 pairs[MOST_PAIRS];
	unsigned int nr;
	int err = 0;

	if (!block)
		err = sites->set(SITES_BATCHED, SITES_MOST, true) ?:
		      sites->set(SITES_BATCHED, SITES_MOST, false);
	for (nr = collect_measured_pairs(pairs); nr && !err; nr--, sink.position++) {
		unsigned int pick = bench_draw_random_below(nr);
		const struct method *method = &methods[pairs[pick] / ARRAY_SIZE(sizes)];
		u32 size = sizes[pairs[pick] % ARRAY_SIZE(sizes)];

		pairs[pick] = pairs[nr - 1];
		err = measure_enabling_sites(&sink, method, size) ?:
		      measure_disabling_sites(&sink, method, size);
	}
	return err;
}

const struct bench_group bench_arm_scaling = {
	.name = "arm-scaling",
	.variants = scaling_variants,
	.nr_variants = ARRAY_SIZE(scaling_variants),
	.setup = setup_scaling_benchmark,
	.lacks = SITES_LACKING "no second CPU is available for the observer thread",
	.teardown = teardown_sites_and_observer,
	.block = measure_scaling_block,
	.block_samples = count_scaling_samples,
	.most_blocks = MOST_BLOCKS,
	.most_seconds = 40,
};

static unsigned int count_stall_samples(void)
{
	return ARRAY_SIZE(stall_variants);
}

static int measure_stall_variant(struct sink *sink, unsigned int variant, bool on)
{
	static u64 last_batch;
	struct window window;
	int err = 0;

	if (variant == STALL_IDLE || variant == STALL_INTERRUPTS)
		measure_gap_without_switch(last_batch, variant == STALL_IDLE ? 0 : BATCH_ROUNDS,
					   &window);
	else
		err = measure_site_switch(variant == STALL_BATCHED ? SITES_BATCHED :
					  SITES_STOP_MACHINE, STALL_SIZE, on, &window);
	if (variant == STALL_BATCHED)
		last_batch = window.ticks;
	store_sample(sink, variant, STALL_SIZE, window.gap);
	bench_let_tasks_run();
	return err;
}

static int measure_stall_block(u32 block, struct bench_sample *samples)
{
	struct sink sink = { .next = samples, .variants = stall_variants, .block = block };
	unsigned int n = ARRAY_SIZE(stall_variants);
	int err = 0;

	for (; sink.position < n && !err; sink.position++)
		err = measure_stall_variant(&sink, (sink.position + block + 1) % n, !(block & 1));
	return err;
}

const struct bench_group bench_arm_stall = {
	.name = "arm-stall",
	.variants = stall_variants,
	.nr_variants = ARRAY_SIZE(stall_variants),
	.setup = setup_stall_benchmark,
	.lacks = SITES_LACKING "no second CPU is available for the observer thread",
	.teardown = teardown_sites_and_observer,
	.block = measure_stall_block,
	.block_samples = count_stall_samples,
	.most_blocks = 40,
	.most_seconds = 20,
};
