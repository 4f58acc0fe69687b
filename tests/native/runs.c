// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of benchmark runs: the order of the samples, the flags of the samples, the ratio of core
 * cycles to TSC ticks, the gaps that the observer thread records, and the progress that kmbench
 * shows.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/timekeeping.h>

#include <time.h>

#include <kmarkers/patcher.h>

#include "../../bench_modules/cycles.h"
#include "../../bench_modules/groups.h"
#include "../../bench_modules/loops.h"
#include "../../bench_modules/observer.h"
#include "../../bench_modules/observer_thread.h"
#include "../../bench_modules/ops.h"
#include "../../bench_modules/platform.h"
#include "../../bench_modules/run.h"
#include "../../bench_modules/sites.h"
#include "../../bench_modules/sites_module.h"
#include "../../native/progress.h"
#include "runs.h"

static enum bench_cycles cycles_source;
/* The rate of the cycle counter of this file, as a multiple of the rate of the TSC. */
static u64 counter_rate = 3;
/* For this number of further readings, the counter does not advance. */
static unsigned int standing_reads;

/*
 * Check the ratio of core cycles to TSC cycles for each source of core cycles.  Counted cycles give
 * the rate of the counter; or 0 if the counter does not advance in two of four measurements, or
 * counts down.
 */
static const char *run_measures_cycles_per_tick(void)
{
	const u64 one = 1 << BENCH_CYCLES_SHIFT;
	u64 ratio;

	cycles_source = BENCH_CYCLES_NONE;
	EXPECT(!bench_measure_cycles_per_tick());
	cycles_source = BENCH_CYCLES_COUNTED;
	ratio = bench_measure_cycles_per_tick();
	EXPECT(ratio > one * 29 / 10 && ratio < one * 31 / 10);
	/* Each measurement reads the counter four times. */
	standing_reads = 4;
	ratio = bench_measure_cycles_per_tick();
	EXPECT(ratio > one * 29 / 10 && ratio < one * 31 / 10);
	standing_reads = 8;
	EXPECT(!bench_measure_cycles_per_tick());
	counter_rate = 0;
	ratio = bench_measure_cycles_per_tick();
	counter_rate = -1;
	ratio |= bench_measure_cycles_per_tick();
	counter_rate = 3;
	EXPECT(!ratio);
	cycles_source = BENCH_CYCLES_ESTIMATED;
	ratio = bench_measure_cycles_per_tick();
	EXPECT(ratio > one / 20 && ratio < one * 20);
	return NULL;
}

/* Define the array of functions for BENCH_ROW(), with the same function for every layout. */
#define AT_EACH_LAYOUT(code)						\
static bench_op *const code##_layouts[] = { [0 ... BENCH_LAYOUTS - 1] = code }

static bool never_stop(void)
{
	return false;
}

static unsigned int calls[2];

static u64 count_call_of_first_variant(u32 loops)
{
	calls[0]++;
	return 3 * loops + 7;
}

AT_EACH_LAYOUT(count_call_of_first_variant);

static u64 count_call_of_second_variant(u32 loops)
{
	calls[1]++;
	return 5 * loops + 7;
}

AT_EACH_LAYOUT(count_call_of_second_variant);

/* Number of timed windows so far, and minimum and maximum of the random delay before a window. */
static struct {
	unsigned int nr;
	u32 least, most;
} delays;

void __real_bench_delay(u32 iterations);
void __wrap_bench_delay(u32 iterations);

void __wrap_bench_delay(u32 iterations)
{
	delays.nr++;
	if (iterations < delays.least)
		delays.least = iterations;
	if (iterations > delays.most)
		delays.most = iterations;
	__real_bench_delay(iterations);
}

/*
 * Check the random order of a run.  Each variant has each position equally often.  Each layout is
 * used equally often, and each group of eight blocks has a layout in each eighth of a cache line.
 * Each loop count is measured first, second and last in more than a sixth of the cases.  A random
 * delay of fewer than 1024 iterations of an empty loop precedes each window.
 */
static const char *run_randomises_blocks(void)
{
	static const struct bench_variant variants[] = {
		BENCH_ROW("a", count_call_of_first_variant),
		BENCH_ROW("b", count_call_of_second_variant),
		BENCH_ROW("c", count_call_of_first_variant),
	};
	static const struct bench_group group = {
		.name = "g", .variants = variants, .nr_variants = 3, .loops = { 10, 15, 20 },
	};
	struct bench_config config = { .blocks = 3 * BENCH_LAYOUTS, .seed = 5 };
	unsigned int eighths[3 * BENCH_LAYOUTS / 8] = { 0 };
	unsigned int seen[3][3] = { 0 }, layouts[BENCH_LAYOUTS] = { 0 }, places[3][3] = { 0 }, i;
	struct bench_result result = { 0 };

	delays.nr = delays.most = 0;
	delays.least = ~0U;
	EXPECT(!bench_alloc_result(&group, &config, &result));
	EXPECT(!bench_run_group(&group, &result, never_stop));
	EXPECT(delays.nr == (3 * config.blocks + BENCH_LAYOUTS) * 3);
	EXPECT(delays.least < 64 && delays.most >= 960 && delays.most < 1024);
	EXPECT(result.nr == config.blocks * 3 * 3 && result.nr == result.planned);
	for (i = 0; i < result.nr; i++) {
		const struct bench_sample *s = &result.samples[i];

		EXPECT(s->value == (s->variant == 1 ? 5 : 3) * s->size + 7);
		seen[s->variant][s->position]++;
		layouts[s->layout]++;
		eighths[s->block / 8] |= 1 << s->layout % 8;
		places[i % 3][s->size / 5 - 2]++;
	}
	for (i = 0; i < 9; i++)
		EXPECT(places[i / 3][i % 3] > config.blocks * 3 / 6);
	for (i = 0; i < 9; i++)
		EXPECT(seen[i / 3][i % 3] == config.blocks / 3 * 3);
	for (i = 0; i < BENCH_LAYOUTS; i++)
		EXPECT(layouts[i] == result.nr / BENCH_LAYOUTS &&
		       (i >= ARRAY_SIZE(eighths) || eighths[i] == 0xff));
	bench_free_result(&result);
	EXPECT(calls[0] && calls[1]);
	return NULL;
}

/* A simulated clock.  Each loop of simulate_variant_window() takes simulated.pass picoseconds. */
static struct {
	bool used, stands;
	u64 ns, pass;
	unsigned int spoilt;	/* if N > 0, all windows but every Nth take 100 us more */
	unsigned int windows;
} simulated;

int __real_clock_gettime(clockid_t id, struct timespec *now);
int __wrap_clock_gettime(clockid_t id, struct timespec *now);

int __wrap_clock_gettime(clockid_t id, struct timespec *now)
{
	if (!simulated.used)
		return __real_clock_gettime(id, now);
	now->tv_sec = simulated.ns / 1000000000;
	now->tv_nsec = simulated.ns % 1000000000;
	return 0;
}

static u64 tsc_step = 1;

static u64 simulate_variant_window(u32 loops)
{
	if (!simulated.stands)
		simulated.ns += 30 + loops * simulated.pass / 1000;
	if (simulated.spoilt && simulated.windows++ % simulated.spoilt)
		simulated.ns += 100000;
	return loops * tsc_step;
}

AT_EACH_LAYOUT(simulate_variant_window);

static const struct bench_variant timed[] = { BENCH_ROW("a", simulate_variant_window) };
static const struct bench_group to_find = { .name = "g", .variants = timed, .nr_variants = 1 };

/*
 * Find loop counts for a loop of @pass_ps picoseconds.  If @spoilt is N > 0, all windows but every
 * Nth take 100 us more.
 */
static int find_loop_counts(u64 pass_ps, unsigned int spoilt, u32 *loops)
{
	int err;

	simulated.pass = pass_ps;
	simulated.spoilt = spoilt;
	simulated.windows = 0;
	simulated.used = true;
	err = bench_find_loop_counts(&to_find, 0, loops);
	simulated.used = false;
	return err;
}

/* Check that windows take 10 to 30 us.  Windows of at most 12 passes may take longer. */
static const char *run_finds_loop_counts(void)
{
	static const u64 passes[] = { 250, 777, 1000, 4096, 39999, 433000, 5000000, 2000000000 };
	u32 loops[BENCH_LOOP_COUNTS], again[BENCH_LOOP_COUNTS];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(passes); i++) {
		EXPECT(!find_loop_counts(passes[i], 0, loops));
		EXPECT(loops[0] && loops[0] < loops[1] && loops[1] < loops[2]);
		EXPECT(loops[0] * passes[i] >= 9900000);
		EXPECT(loops[2] * passes[i] <= 30000000 || loops[2] <= 12);
		/* The loop counts are the same if seven of eight windows are disturbed. */
		EXPECT(!find_loop_counts(passes[i], 8, again));
		EXPECT(!memcmp(loops, again, sizeof(loops)));
	}
	EXPECT(loops[0] == 1 && loops[2] == 3);
	return NULL;
}

/*
 * Check that the loop counts are in the ratio 5 to 8 to 12, rounded down; but each loop count is at
 * least one more than the previous loop count.  The smallest loop count takes 10 us, and is rounded
 * up to four significant bits.
 */
static const char *run_uses_loop_counts_in_ratio_5_8_12(void)
{
	static const struct {
		u64 pass;	/* duration of a pass in ps */
		u32 loops[BENCH_LOOP_COUNTS];
	} cases[] = {
		/* Each comment gives the number of passes that take 10 us. */
		{ 1000, { 10240, 16384, 24576 } },	/* 9982 */
		{ 10000, { 1024, 1638, 2457 } },	/* 998 */
		{ 100000, { 104, 166, 249 } },		/* 100 */
		{ 700000, { 15, 24, 36 } },		/* 15 */
		{ 2000000, { 5, 8, 12 } },		/* 5 */
		{ 2500000, { 4, 6, 9 } },		/* 4 */
		{ 5000000, { 2, 3, 4 } },		/* 2 */
		{ 10000000, { 1, 2, 3 } },		/* 1 */
	};
	u32 loops[BENCH_LOOP_COUNTS];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		EXPECT(!find_loop_counts(cases[i].pass, 0, loops));
		EXPECT(!memcmp(loops, cases[i].loops, sizeof(loops)));
	}
	return NULL;
}

/* Check that a run fails, without results, if a clock does not advance or goes backwards. */
static const char *run_fails_if_a_clock_stops(void)
{
	static const struct bench_group fixed = {
		.name = "g", .variants = timed, .nr_variants = 1, .loops = { 1, 2, 3 },
	};
	struct bench_config config = { .blocks = 4, .seed = 5 };
	struct bench_result result = { 0 };
	u32 loops[BENCH_LOOP_COUNTS];
	int err[3];

	simulated.stands = true;
	err[0] = find_loop_counts(1000, 0, loops);
	simulated.stands = false;
	tsc_step = 0;
	err[1] = find_loop_counts(1000, 0, loops);
	tsc_step = -1;
	EXPECT(!bench_alloc_result(&fixed, &config, &result));
	err[2] = bench_run_group(&fixed, &result, never_stop);
	tsc_step = 1;
	EXPECT(err[0] == -ETIME && err[1] == -ERANGE && err[2] == -ERANGE && !result.nr);
	bench_free_result(&result);
	return NULL;
}

/* Number of windows so far, and number of the window in which the TSC goes backwards. */
static unsigned int windows, backward_window;

static u64 go_backwards_in_one_window(u32 loops)
{
	return ++windows == backward_window ? -1ULL : loops;
}

AT_EACH_LAYOUT(go_backwards_in_one_window);

/*
 * Check that a run fails if the TSC goes backwards in a single window of the warm-up or of a block,
 * and that the samples of complete blocks are kept.
 */
static const char *run_fails_if_the_tsc_goes_backwards_once(void)
{
	static const struct bench_variant variants[] = {
		BENCH_ROW("a", go_backwards_in_one_window),
	};
	static const struct bench_group group = {
		.name = "g", .variants = variants, .nr_variants = 1, .loops = { 1, 2, 3 },
	};
	/* The windows before the warm-up, which are measured at each layout, need no TSC. */
	static const struct {
		unsigned int window, nr;
		int err;
	} cases[] = {
		{ BENCH_LAYOUTS, 6, 0 },
		{ BENCH_LAYOUTS + 1, 0, -ERANGE },
		{ 2 * BENCH_LAYOUTS, 0, -ERANGE },
		{ 2 * BENCH_LAYOUTS + 1, 0, -ERANGE },
		{ 2 * BENCH_LAYOUTS + BENCH_LOOP_COUNTS + 1, 3, -ERANGE },
		{ 2 * BENCH_LAYOUTS + 2 * BENCH_LOOP_COUNTS, 3, -ERANGE },
	};
	struct bench_config config = { .blocks = 2, .seed = 5 };
	struct bench_result result = { 0 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		windows = 0;
		backward_window = cases[i].window;
		EXPECT(!bench_alloc_result(&group, &config, &result));
		EXPECT(bench_run_group(&group, &result, never_stop) == cases[i].err);
		EXPECT(result.nr == cases[i].nr);
	}
	bench_free_result(&result);
	return NULL;
}

/* Check that windows that would keep interrupts off for more than a second are never run. */
static const char *run_refuses_windows_longer_than_a_second(void)
{
	static const struct bench_group own[] = {
		{ .name = "g", .variants = timed, .nr_variants = 1, .loops = { 1, 2, 499 } },
		{ .name = "g", .variants = timed, .nr_variants = 1, .loops = { 1, 2, 500 } },
	};
	struct bench_config config = { .blocks = 1, .seed = 5 };
	struct bench_result result = { 0 };
	u64 start;
	int err[2];
	u32 i;

	simulated.pass = 2000000000;
	simulated.spoilt = 0;
	for (i = 0; i < 2; i++) {
		EXPECT(!bench_alloc_result(&own[i], &config, &result));
		simulated.used = true;
		start = simulated.ns;
		err[i] = bench_run_group(&own[i], &result, never_stop);
		simulated.used = false;
	}
	/* With the overhead, 499 passes of 2 ms take less than a second, 500 passes take longer. */
	EXPECT(!err[0] && err[1] == -E2BIG && !result.nr);
	EXPECT(simulated.ns - start < 100000000);
	bench_free_result(&result);
	return NULL;
}

/* The CPU and the number of context switches that a run reads; the benchmarks below change both. */
static unsigned int on_cpu;
static u64 switches;
static bool fake_cpu;

int __real_sched_getcpu(void);
int __wrap_sched_getcpu(void);

int __wrap_sched_getcpu(void)
{
	return fake_cpu ? (int)on_cpu : __real_sched_getcpu();
}

#define QUIETEST	5
#define QUIET		10
#define DISTURBED	20

static u64 simulate_migration(u32 loops)
{
	on_cpu += loops == DISTURBED;
	return loops;
}

AT_EACH_LAYOUT(simulate_migration);

static u64 simulate_preemption(u32 loops)
{
	switches += loops == DISTURBED;
	return loops;
}

AT_EACH_LAYOUT(simulate_preemption);

static u64 simulate_migration_and_preemption(u32 loops)
{
	return simulate_migration(loops) + simulate_preemption(loops);
}

AT_EACH_LAYOUT(simulate_migration_and_preemption);

/*
 * Check that a sample has a flag for each disturbance of its window, and names the CPU on which the
 * window began.
 */
static const char *run_marks_disturbed_windows(void)
{
	static const struct bench_variant variants[] = {
		BENCH_ROW("migrates", simulate_migration),
		BENCH_ROW("preempted", simulate_preemption),
		BENCH_ROW("both", simulate_migration_and_preemption),
	};
	static const u32 flags[] = {
		BENCH_MIGRATED, BENCH_PREEMPTED, BENCH_MIGRATED | BENCH_PREEMPTED,
	};
	static const struct bench_group group = {
		.name = "g", .variants = variants, .nr_variants = ARRAY_SIZE(variants),
		.loops = { QUIETEST, QUIET, DISTURBED },
	};
	struct bench_config config = { .blocks = 6, .seed = 5 };
	struct bench_result result = { 0 };
	unsigned int i, cpu;
	int err;

	EXPECT(!bench_alloc_result(&group, &config, &result));
	fake_cpu = true;
	err = bench_run_group(&group, &result, never_stop);
	fake_cpu = false;
	EXPECT(!err && result.nr == result.planned);
	cpu = result.samples[0].cpu;
	for (i = 0; i < result.nr; i++) {
		const struct bench_sample *s = &result.samples[i];

		EXPECT(s->flags == (s->size == DISTURBED ? flags[s->variant] : 0));
		EXPECT(s->cpu == cpu);
		cpu += !!(s->flags & BENCH_MIGRATED);
	}
	bench_free_result(&result);
	return NULL;
}

/* Check that the first block is measured even if the warm-up took longer than the time limit. */
static const char *run_measures_at_least_one_block(void)
{
	static const struct bench_group slow = {
		.name = "g", .variants = timed, .nr_variants = 1, .loops = { 1, 2, 3 },
		.most_seconds = 1,
	};
	struct bench_config config = { .blocks = 100, .seed = 5 };
	struct bench_result result = { 0 };
	int err;

	simulated.pass = 300000000000;
	simulated.spoilt = 0;
	EXPECT(!bench_alloc_result(&slow, &config, &result));
	simulated.used = true;
	err = bench_run_group(&slow, &result, never_stop);
	simulated.used = false;
	EXPECT(!err && result.nr == BENCH_LOOP_COUNTS && result.planned == result.nr);
	bench_free_result(&result);
	return NULL;
}

/*
 * The function that bench_let_tasks_run() calls: after blocks, and while bench_observer_read_gap()
 * waits for an answer.
 */
static void (*while_waiting)(void);

static unsigned int turns;

static void count_yield(void)
{
	turns++;
}

/*
 * Check that other tasks may run after the loop counts of each variant were chosen, and after each
 * block, also of the warm-up.
 */
static const char *run_lets_other_tasks_run(void)
{
	static const struct bench_group fixed = {
		.name = "g", .variants = timed, .nr_variants = 1, .loops = { 1, 2, 3 },
	};
	struct bench_config config = { .blocks = 5, .seed = 5 };
	struct bench_result result = { 0 };
	int err;

	EXPECT(!bench_alloc_result(&fixed, &config, &result));
	turns = 0;
	while_waiting = count_yield;
	err = bench_run_group(&fixed, &result, never_stop);
	while_waiting = NULL;
	bench_free_result(&result);
	EXPECT(!err && turns == 1 + BENCH_LAYOUTS + config.blocks);
	return NULL;
}

#define CALIBRATION_NS	100000000

static struct bench_watch watch;
static u64 watch_ticks;

static void begin_observer_watch(unsigned int timer_irqs)
{
	bench_watch_init(&watch, timer_irqs);
	watch.last = watch_ticks;
}

/*
 * Let a gap of @gap ticks end.  The number of timer interrupts that the CPU has had is then
 * @timer_irqs.
 */
static void end_observer_gap(u64 gap, unsigned int timer_irqs)
{
	bench_watch_read_clock(&watch);
	watch_ticks += gap;
	watch.now = watch_ticks;
	bench_watch_record_gap(&watch, timer_irqs);
}

/* Return the longest gap that was recorded since the last call. */
static u64 take_longest_gap(void)
{
	u64 longest = watch.longest;

	watch.longest = 0;
	return longest;
}

/*
 * Check which gaps the observer thread records.  A gap is interrupted if the number of timer
 * interrupts has changed during this gap or during the previous gap.
 */
static const char *check_recorded_gaps(void)
{
	begin_observer_watch(7);
	/* Interrupted gaps of the calibration are not recorded, and set the limit: 700 ticks. */
	end_observer_gap(600, 8);
	end_observer_gap(700, 8);
	EXPECT(!take_longest_gap());
	end_observer_gap(5000, 8);
	end_observer_gap(4000, 8);
	EXPECT(take_longest_gap() == 5000);
	end_observer_gap(500, 9);
	simulated.ns += CALIBRATION_NS - 1;
	end_observer_gap(1, 9);
	EXPECT(!watch.calibrated);
	simulated.ns++;
	end_observer_gap(1, 9);
	EXPECT(watch.calibrated && take_longest_gap() == 1);

	/* An interrupted gap after the calibration is recorded if it exceeds twice the limit. */
	end_observer_gap(1400, 10);
	end_observer_gap(1400, 10);
	EXPECT(!take_longest_gap());
	end_observer_gap(1401, 11);
	EXPECT(take_longest_gap() == 1401);
	end_observer_gap(1400, 11);
	EXPECT(!take_longest_gap());
	end_observer_gap(1402, 12);
	end_observer_gap(1403, 12);
	EXPECT(take_longest_gap() == 1403);
	/* A gap that is not interrupted is recorded, however short it is. */
	end_observer_gap(3, 12);
	end_observer_gap(2, 12);
	EXPECT(take_longest_gap() == 3);
	return NULL;
}

static u64 last_gap;

/* Let 25 ms pass, and end a gap that is one tick longer than the previous gap. */
static void end_gap_after_25_ms(void)
{
	simulated.ns += CALIBRATION_NS / 4;
	end_observer_gap(++last_gap, 0);
}

/*
 * Check that a request is answered with the longest gap since the previous answer, at the end of
 * the next gap.  The first request is answered after the calibration, which ends with its fourth
 * gap.
 */
static const char *check_requests_for_gaps(void)
{
	begin_observer_watch(0);
	while_waiting = end_gap_after_25_ms;
	last_gap = 0;
	fake_cpu = true;
	on_cpu = 3;
	EXPECT(bench_observer_read_gap() == 5 && bench_observer_get_gap_cpu() == 3);
	on_cpu = 0;
	EXPECT(bench_observer_read_gap() == 6 && bench_observer_get_gap_cpu() == 0);
	end_observer_gap(200, 0);
	end_observer_gap(100, 0);
	EXPECT(bench_observer_read_gap() == 200);
	EXPECT(bench_observer_read_gap() == 8);
	return NULL;
}

/*
 * If true, benchmarks start no observer thread, and bench_observer_start() returns observer_err.
 */
static bool no_observer;
static int observer_err;

int __real_bench_observer_start(bool realtime);
int __wrap_bench_observer_start(bool realtime);

int __wrap_bench_observer_start(bool realtime)
{
	return no_observer ? observer_err : __real_bench_observer_start(realtime);
}

void __real_bench_observer_stop(void);
void __wrap_bench_observer_stop(void);

void __wrap_bench_observer_stop(void)
{
	if (!no_observer)
		__real_bench_observer_stop();
}

/* The times in ns of the requests for gaps in a block of arm-stall: two for each variant. */
static struct {
	u64 ns[4];
	unsigned int nr;
} requests;

/* Called by the benchmark: answer a new request, if there is one, and store the time. */
static void answer_gap_request(void)
{
	u32 before = watch.asked;

	end_observer_gap(1, 0);
	if (watch.asked != before && requests.nr < ARRAY_SIZE(requests.ns))
		requests.ns[requests.nr++] = ktime_get_ns();
}

/*
 * Run a block of arm-stall.  Set @waited_ns to the time between the two requests of the variant
 * @idle_variant, which switches no site, and @batch_ns to the time that the patcher has counted.
 */
static int run_stall_block(u32 block, unsigned int idle_variant, u64 *waited_ns, u64 *batch_ns)
{
	struct patcher_stats before, after;
	struct bench_sample samples[2];
	int err;

	requests.nr = 0;
	patcher_read_stats(&before);
	err = bench_arm_stall.block(block, samples);
	patcher_read_stats(&after);
	*waited_ns = requests.ns[2 * idle_variant + 1] - requests.ns[2 * idle_variant];
	*batch_ns = after.check_ns + after.map_ns + after.apply_ns -
		    (before.check_ns + before.map_ns + before.apply_ns);
	return err ?: requests.nr == 4 && bench_arm_stall.block_samples() == 2 ? 0 : -EINVAL;
}

/*
 * Check that the observer looks for gaps without a switch for as long as the last batch took.  In
 * block 0, the last batch is the batch of the same block, which comes first.  In block 1, the last
 * batch is the batch of block 0.  The check allows a tenth less time, because two clocks are
 * compared.
 */
static const char *observer_waits_as_long_as_a_batch(void)
{
	u64 waited[2], batch[2];
	int err;

	begin_observer_watch(0);
	watch.calibrated = true;
	no_observer = true;
	while_waiting = answer_gap_request;
	err = bench_arm_stall.setup();
	if (!err) {
		err = run_stall_block(0, 1, &waited[0], &batch[0]) ?:
		      run_stall_block(1, 0, &waited[1], &batch[1]);
		bench_arm_stall.teardown();
	}
	while_waiting = NULL;
	no_observer = false;
	EXPECT(!err);
	EXPECT(waited[0] * 10 >= batch[0] * 9);
	EXPECT(waited[1] * 10 >= batch[0] * 9);
	return NULL;
}

/*
 * A simulated module with sites: whether it is used and loaded, the result of its setup, and how
 * often the module and its sites are in use.
 */
static struct {
	bool used, missing;
	int setup_err;
	unsigned int users, set_up;
} module;

static int set_up_simulated_sites(void)
{
	module.set_up += !module.setup_err;
	return module.setup_err;
}

static void tear_down_simulated_sites(void)
{
	module.set_up--;
}

static int switch_simulated_sites(enum sites_method method, u32 nr, bool on)
{
	return 0;
}

static const struct bench_sites simulated_sites = {
	.setup = set_up_simulated_sites,
	.teardown = tear_down_simulated_sites,
	.set = switch_simulated_sites,
};

const struct bench_sites *__real_bench_get_sites_module(void);
const struct bench_sites *__wrap_bench_get_sites_module(void);

const struct bench_sites *__wrap_bench_get_sites_module(void)
{
	if (!module.used)
		return __real_bench_get_sites_module();
	if (module.missing)
		return NULL;
	module.users++;
	return &simulated_sites;
}

void __real_bench_put_sites_module(void);
void __wrap_bench_put_sites_module(void);

void __wrap_bench_put_sites_module(void)
{
	if (module.used)
		module.users--;
	else
		__real_bench_put_sites_module();
}

static void reset_simulated_sites(void)
{
	memset(&module, 0, sizeof(module));
	while_waiting = NULL;
	no_observer = false;
	observer_err = 0;
}

static const struct bench_group *const arm_groups[] = { &bench_arm_scaling, &bench_arm_stall };

/* Check that a failed setup and the teardown release the sites and the module that has them. */
static const char *run_releases_sites_after_failed_setup(void)
{
	unsigned int i;

	module.used = true;
	no_observer = true;
	for (i = 0; i < ARRAY_SIZE(arm_groups); i++) {
		module.missing = true;
		EXPECT(arm_groups[i]->setup() == -ENODEV);
		module.missing = false;
		module.setup_err = -ENOMEM;
		EXPECT(arm_groups[i]->setup() == -ENOMEM && !module.users);
		module.setup_err = 0;
		observer_err = -EAGAIN;
		EXPECT(arm_groups[i]->setup() == -EAGAIN && !module.users && !module.set_up);
		observer_err = 0;
		EXPECT(!arm_groups[i]->setup() && module.users == 1 && module.set_up == 1);
		arm_groups[i]->teardown();
		EXPECT(!module.users && !module.set_up);
	}
	return NULL;
}

/*
 * Check that a block stores as many samples as the group has counted, and that each variant has a
 * sample.
 */
static const char *check_number_of_samples(const struct bench_group *group, u32 block)
{
	static struct bench_sample samples[200];
	unsigned int i, nr = group->block_samples();
	u32 seen = 0;

	EXPECT(nr && nr < ARRAY_SIZE(samples));
	memset(samples, 0xff, sizeof(samples));
	EXPECT(!group->block(block, samples));
	for (i = 0; i < nr; i++) {
		EXPECT(samples[i].block == block && samples[i].variant < group->nr_variants);
		seen |= 1U << samples[i].variant;
	}
	EXPECT(samples[nr].block == ~0U);
	EXPECT(seen == ~0U >> (32 - group->nr_variants));
	return NULL;
}

static const char *run_stores_the_counted_samples(void)
{
	const char *failed = NULL;
	unsigned int i;

	module.used = true;
	no_observer = true;
	begin_observer_watch(0);
	watch.calibrated = true;
	while_waiting = answer_gap_request;
	for (i = 0; i < ARRAY_SIZE(arm_groups) && !failed; i++) {
		EXPECT(!arm_groups[i]->setup());
		failed = check_number_of_samples(arm_groups[i], 0) ?:
			 check_number_of_samples(arm_groups[i], 1);
		arm_groups[i]->teardown();
	}
	return failed;
}

static const char *call_with_simulated_clock(const char *(*check)(void))
{
	const char *failed;

	simulated.used = true;
	failed = check();
	simulated.used = false;
	fake_cpu = false;
	while_waiting = NULL;
	return failed;
}

static const char *observer_records_gaps(void)
{
	return call_with_simulated_clock(check_recorded_gaps) ?:
	       call_with_simulated_clock(check_requests_for_gaps);
}

static char *shown;
static size_t shown_size;

/* Return what @show prints on stderr.  The text is valid until the next call. */
static const char *capture_shown_text(void (*show)(int err), int err)
{
	FILE *usual = stderr;

	free(shown);
	stderr = open_memstream(&shown, &shown_size);
	show(err);
	fclose(stderr);
	stderr = usual;
	return shown;
}

static const struct bench_group shown_group = { .name = "g", .lacks = "no caches" };
static const struct bench_group other_group = { .name = "other" };
static struct bench_result counted = { .planned = 9 };

static void start_shown_group(int err)
{
	native_progress_start(&shown_group, &counted);
}

static void show_progress(int err)
{
	native_progress_show();
}

/* Begin a benchmark, let @ms pass, and return what is shown at the end. */
static const char *capture_end_of_benchmark(const struct bench_group *group, unsigned int ms,
					    int err)
{
	native_progress_start(group, &counted);
	simulated.ns += ms * 1000000ULL;
	return capture_shown_text(native_progress_end, err);
}

static const char *check_progress_lines(void)
{
	native_progress_set_total(6);
	simulated.ns = 1999000000;
	counted.nr = 3;
	EXPECT(!*capture_shown_text(show_progress, 0));
	EXPECT(!strcmp(capture_end_of_benchmark(&shown_group, 100040, 0),
		       "kmbench: [1/6] g: 3 of 9 windows in 100.0 s\n"));
	EXPECT(!strcmp(capture_end_of_benchmark(&other_group, 1260, -EINTR),
		       "kmbench: [2/6] other: 3 of 9 windows in 1.3 s, interrupted\n"));
	counted.nr = 0;
	EXPECT(!strcmp(capture_end_of_benchmark(&shown_group, 40, -ENODEV),
		       "kmbench: [3/6] g: SKIP, no caches\n"));
	EXPECT(!strcmp(capture_end_of_benchmark(&other_group, 40, -ENODEV),
		       "kmbench: [4/6] other: 0 of 9 windows in 0.0 s, No such device\n"));
	EXPECT(!strcmp(capture_end_of_benchmark(&shown_group, 60, -EIO),
		       "kmbench: [5/6] g: 0 of 9 windows in 0.1 s, Input/output error\n"));
	return NULL;
}

/* Check that a terminal shows the number of windows at the beginning and five times a second. */
static const char *check_progress_on_terminal(void)
{
	native_progress_set_total(6);
	EXPECT(!strcmp(capture_shown_text(start_shown_group, 0),
		       "\rkmbench: [6/6] g: 0 of 9 windows"));
	counted.nr = 4;
	simulated.ns += 150000000;
	EXPECT(!*capture_shown_text(show_progress, 0));
	simulated.ns += 100000000;
	EXPECT(!strcmp(capture_shown_text(show_progress, 0), "\rkmbench: [6/6] g: 4 of 9 windows"));
	simulated.ns += 150000000;
	EXPECT(!*capture_shown_text(show_progress, 0));
	counted.nr = 9;
	EXPECT(!strcmp(capture_shown_text(native_progress_end, 0),
		       "\rkmbench: [6/6] g: 9 of 9 windows in 0.4 s\n"));
	return NULL;
}

/* Run @check while stderr is the file @path. */
static const char *call_with_stderr_file(const char *path, const char *(*check)(void))
{
	int own = dup(STDERR_FILENO), fd = open(path, O_RDWR | O_NOCTTY);
	const char *failed;

	EXPECT(own >= 0 && fd >= 0 && dup2(fd, STDERR_FILENO) >= 0);
	failed = call_with_simulated_clock(check);
	dup2(own, STDERR_FILENO);
	close(own);
	close(fd);
	return failed;
}

static const char *progress_of_runs_is_shown(void)
{
	int terminal = posix_openpt(O_RDWR | O_NOCTTY);
	const char *failed = call_with_stderr_file("/dev/null", check_progress_lines);

	EXPECT(terminal >= 0 && !grantpt(terminal) && !unlockpt(terminal));
	failed = failed ?: call_with_stderr_file(ptsname(terminal), check_progress_on_terminal);
	close(terminal);
	free(shown);
	shown = NULL;
	return failed;
}

const struct test_case run_cases[] = {
	{ "run_randomises_blocks", run_randomises_blocks, NULL },
	{ "run_finds_loop_counts", run_finds_loop_counts, NULL },
	{ "run_uses_loop_counts_in_ratio_5_8_12", run_uses_loop_counts_in_ratio_5_8_12, NULL },
	{ "run_fails_if_a_clock_stops", run_fails_if_a_clock_stops, NULL },
	{ "run_fails_if_the_tsc_goes_backwards_once", run_fails_if_the_tsc_goes_backwards_once,
	  NULL },
	{ "run_refuses_windows_longer_than_a_second", run_refuses_windows_longer_than_a_second,
	  NULL },
	{ "run_measures_at_least_one_block", run_measures_at_least_one_block, NULL },
	{ "run_marks_disturbed_windows", run_marks_disturbed_windows, NULL },
	{ "run_lets_other_tasks_run", run_lets_other_tasks_run, NULL },
	{ "run_measures_cycles_per_tick", run_measures_cycles_per_tick, NULL },
	{ "observer_records_gaps", observer_records_gaps, NULL },
	{ "progress_of_runs_is_shown", progress_of_runs_is_shown, NULL },
	{ "observer_waits_as_long_as_a_batch", observer_waits_as_long_as_a_batch, NULL },
	{ "run_releases_sites_after_failed_setup", run_releases_sites_after_failed_setup,
	  reset_simulated_sites },
	{ "run_stores_the_counted_samples", run_stores_the_counted_samples,
	  reset_simulated_sites },
};

const unsigned int run_nr_cases = ARRAY_SIZE(run_cases);

/* Replacements of the functions that kmbench defines for runs, under the control of the tests. */
u64 bench_count_context_switches(void)
{
	return switches;
}

void bench_let_tasks_run(void)
{
	if (while_waiting)
		while_waiting();
}

enum bench_cycles bench_find_cycles_source(void)
{
	return cycles_source;
}

u64 bench_read_cycle_counter(void)
{
	if (standing_reads) {
		standing_reads--;
		return 0;
	}
	return bench_read_tsc() * counter_rate;
}
