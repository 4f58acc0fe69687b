// SPDX-License-Identifier: GPL-2.0-only
/* Runs of benchmarks: the order of the samples, their flags and their unit. */
#include <linux/errno.h>
#include <linux/kernel.h>

#include "../../bench_modules/cycles.h"
#include "../../bench_modules/platform.h"
#include "../../bench_modules/run.h"
#include "runs.h"

static enum bench_cycles cycles_source;

/* A counter at three times the TSC's rate has ratio 3.  The estimate is plausible. */
static const char *converts_cycles(void)
{
	const u64 one = 1 << BENCH_CYCLES_SHIFT;
	u64 ratio;

	cycles_source = BENCH_CYCLES_NONE;
	EXPECT(!bench_cycles_ratio());
	cycles_source = BENCH_CYCLES_COUNTED;
	ratio = bench_cycles_ratio();
	EXPECT(ratio > one * 29 / 10 && ratio < one * 31 / 10);
	cycles_source = BENCH_CYCLES_ESTIMATED;
	ratio = bench_cycles_ratio();
	EXPECT(ratio > one / 20 && ratio < one * 20);
	return NULL;
}

/* The initialiser of a variant that is the same code at every layout. */
#define AT_EACH_LAYOUT(op)	{ [0 ... BENCH_LAYOUTS - 1] = op }

static bool stop_never(void)
{
	return false;
}

static unsigned int calls[2];

static u64 count_first(u32 loops)
{
	calls[0]++;
	return 3 * loops + 7;
}

static u64 count_second(u32 loops)
{
	calls[1]++;
	return 5 * loops + 7;
}

/* Each variant has each position equally often, and each layout is used equally often. */
static const char *randomises_blocks(void)
{
	static const struct bench_variant variants[] = {
		{ "a", AT_EACH_LAYOUT(count_first) },
		{ "b", AT_EACH_LAYOUT(count_second) },
		{ "c", AT_EACH_LAYOUT(count_first) },
	};
	static const struct bench_group group = {
		.name = "g", .variants = variants, .nr_variants = 3, .loops = { 10, 20 },
	};
	struct bench_config config = { .blocks = 24, .seed = 5 };
	unsigned int seen[3][3] = { 0 }, layouts[BENCH_LAYOUTS] = { 0 }, i;
	struct bench_result result = { 0 };

	EXPECT(!bench_alloc_result(&group, &config, &result));
	EXPECT(!bench_run_group(&group, &result, stop_never));
	EXPECT(result.nr == 24 * 3 * 2 && result.nr == result.planned);
	for (i = 0; i < result.nr; i++) {
		const struct bench_sample *s = &result.samples[i];

		EXPECT(s->value == (s->variant == 1 ? 5 : 3) * s->size + 7);
		seen[s->variant][s->position]++;
		layouts[s->layout]++;
	}
	for (i = 0; i < 9; i++)
		EXPECT(seen[i / 3][i % 3] == 24 / 3 * 2);
	for (i = 0; i < BENCH_LAYOUTS; i++)
		EXPECT(layouts[i] == result.nr / BENCH_LAYOUTS);
	bench_free_result(&result);
	EXPECT(calls[0] && calls[1]);
	return NULL;
}

/* The CPU and the number of preemptions that the engine reads. */
static unsigned int on_cpu;
static u64 switches;
static bool fake_cpu;

int __real_sched_getcpu(void);
int __wrap_sched_getcpu(void);

int __wrap_sched_getcpu(void)
{
	return fake_cpu ? (int)on_cpu : __real_sched_getcpu();
}

#define QUIET		10
#define DISTURBED	20

static u64 migrate(u32 loops)
{
	on_cpu += loops == DISTURBED;
	return loops;
}

static u64 be_preempted(u32 loops)
{
	switches += loops == DISTURBED;
	return loops;
}

static u64 suffer_both(u32 loops)
{
	return migrate(loops) + be_preempted(loops);
}

/* Each window has the flags of what happened in it, and the CPU on which it began. */
static const char *flags_disturbed_windows(void)
{
	static const struct bench_variant variants[] = {
		{ "migrates", AT_EACH_LAYOUT(migrate) },
		{ "preempted", AT_EACH_LAYOUT(be_preempted) },
		{ "both", AT_EACH_LAYOUT(suffer_both) },
	};
	static const u32 flags[] = {
		BENCH_MIGRATED, BENCH_PREEMPTED, BENCH_MIGRATED | BENCH_PREEMPTED,
	};
	static const struct bench_group group = {
		.name = "g", .variants = variants, .nr_variants = ARRAY_SIZE(variants),
		.loops = { QUIET, DISTURBED },
	};
	struct bench_config config = { .blocks = 6, .seed = 5 };
	struct bench_result result = { 0 };
	unsigned int i, cpu;
	int err;

	EXPECT(!bench_alloc_result(&group, &config, &result));
	fake_cpu = true;
	err = bench_run_group(&group, &result, stop_never);
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

const struct test_case run_cases[] = {
	{ "run_randomises_blocks", randomises_blocks, NULL },
	{ "run_flags_disturbed_windows", flags_disturbed_windows, NULL },
	{ "run_converts_cycles", converts_cycles, NULL },
};

const unsigned int run_nr_cases = ARRAY_SIZE(run_cases);

/* Functions that kmbench provides to the engine.  The counter runs three times as fast. */
u64 bench_count_switches(void)
{
	return switches;
}

void bench_pause(void)
{
}

enum bench_cycles bench_cycles_source(void)
{
	return cycles_source;
}

u64 bench_read_cycles(void)
{
	return bench_tsc() * 3;
}
