/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The benchmark harness: groups of variants, measured in randomised blocks.
 *
 * A group measures one thing in several variants; the first variant is its
 * baseline, the second the same code once more (the A/A clone, whose difference
 * from the baseline is noise).  Each variant exists at 8 code layouts in a module, and at 32
 * in a program.
 *
 * A block uses one layout, runs every variant once, in an order taken from a
 * random Latin square, and each at every loop count of the group.  The cost of a pass
 * is the slope of time over loop count, in which work that is done once per window,
 * such as reading the clock, cancels out.
 *
 * Adding a variant is a BENCH_OPS() and a BENCH_ROW(); adding a group is a
 * struct bench_group and a line in groups.c, or BENCH_GROUP() in a module or a program of
 * its own.  A module is loaded after kmarkers_bench, in whose folder in debugfs it is then
 * measured; a program links with libkmbench.a and is used like kmbench:
 *
 *	static unsigned long hash;
 *
 *	BENCH_OPS(plain, hash = hash * 31 + 7)
 *	BENCH_OPS(clone, hash = hash * 31 + 7)
 *	BENCH_OPS(marked, trace_mark(hashed, "%lu", hash); hash = hash * 31 + 7)
 *
 *	static const struct bench_variant variants[] = {
 *		BENCH_ROW("plain", plain),
 *		BENCH_ROW("plain-clone", clone),
 *		BENCH_ROW("marked", marked),
 *	};
 *
 *	BENCH_GROUP(hash_group,
 *		.name = "hash",
 *		.variants = variants,
 *		.nr_variants = 3)
 *
 * How often a window runs the code is found on the machine: it takes 10 to 30 microseconds.
 */
#ifndef KMARKERS_BENCH_H
#define KMARKERS_BENCH_H

#if !defined(__KERNEL__) && !defined(NATIVE_BUILD)
#pragma GCC system_header
#endif

#include <kmarkers/dialect.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#ifdef __KERNEL__
#include <linux/module.h>
#endif
#include <linux/types.h>

#include <kmarkers/bench_window.h>

struct bench_sample;

#define BENCH_LOOP_COUNTS	3
#define BENCH_MAX_VARIANTS	32
#define BENCH_MAX_BLOCKS	100000
#define BENCH_MAX_NAME		64	/* characters of the name of a group or a variant */

/**
 * typedef bench_op - one variant at one layout
 * @loops: how often to run the measured code
 *
 * Return: the TSC ticks that this took.
 */
typedef u64 bench_op(u32 loops);

/* What a sample is: the unit of its value and of its size follow. */
enum bench_measured {
	BENCH_LOOP,	/* ticks of a loop, and its passes */
	BENCH_SWITCH,	/* ticks of a switch of sites, and how many these were */
	BENCH_PART,	/* ticks of a part of such a switch */
	BENCH_GAP,	/* ticks that another CPU lost meanwhile, at one time */
	BENCH_ROUNDS,	/* rounds of synchronisation that such a switch took */
};

/**
 * struct bench_variant - what BENCH_ROW() makes
 * @name: of letters, digits, - and _; at most BENCH_MAX_NAME
 * @op: its code at each layout; unused in a group with a block function
 * @nr_layouts: how many; all variants of a group have equally many
 * @measured: what its samples are; BENCH_LOOP in a group without a block function
 */
struct bench_variant {
	const char *name;
	bench_op *const *op;
	unsigned int nr_layouts;
	enum bench_measured measured;
};

/**
 * struct bench_group - the variants of a benchmark, which are measured together
 * @name: name of the benchmark, and of its directory; no command of bench/control
 * @variants: baseline, A/A clone, then the others; any names if there is a @block
 * @nr_variants: how many
 * @loops: loop counts of every variant, ascending.  All 0: those of each variant are found
 *	before the first block, so that windows take 10 to 30 microseconds
 * @setup: allocates what the variants need; may be NULL; returns 0 or an error
 * @teardown: undoes @setup; may be NULL
 * @select: called before the windows of a variant; may be NULL; returns 0 or an error
 * @block: measures a block in a way of its own, so that variants are only names and
 *	@loops is unused; NULL for the way of run.c; returns 0 or an error
 * @block_samples: returns the number of samples of @block, always the same, at least 1;
 *	as many are read after each block
 * @most_blocks: most blocks in a run of this group; 0 for no limit
 * @most_seconds: no block begins later than this after the first; 0 for no limit
 * @arms: @setup switches markers on; if false, all must be off
 * @lacks: what is missing, in words on one line, if @setup returns -ENODEV
 *
 * If @setup returns -ENODEV, the group cannot be measured here, and is skipped when
 * several groups are run.
 */
struct bench_group {
	const char *name;
	const struct bench_variant *variants;
	unsigned int nr_variants;
	u32 loops[BENCH_LOOP_COUNTS];
	int (*setup)(void);
	void (*teardown)(void);
	int (*select)(unsigned int variant);
	int (*block)(u32 block, struct bench_sample *samples);
	unsigned int (*block_samples)(void);
	u32 most_blocks;
	u32 most_seconds;
	bool arms;
	const char *lacks;
};

/* struct bench_sample.flags: the window was disturbed */
#define BENCH_PREEMPTED		0x1
#define BENCH_MIGRATED		0x2

/* One timed window; enum bench_measured says what @value and @size are. */
struct bench_sample {
	u64 value;
	u64 cycles;	/* of the core, by the block's bench_cycles_ratio(); 0 if not known */
	u32 block;
	u32 size;
	u16 cpu;
	u8 variant;
	u8 layout;
	u8 position;
	u8 flags;
};

/* The configuration of a run, the same for every group in it. */
struct bench_config {
	u32 blocks;
	u32 cpu;
	u64 seed;
};

/**
 * struct bench_result - the samples of the last run of a group
 * @samples: array, or NULL before the first run
 * @nr: samples taken; complete if equal to @planned
 * @planned: samples that a complete run takes
 * @step: samples of each block
 * @run: number of the run; 0 in a program
 * @config: the configuration of that run
 */
struct bench_result {
	struct bench_sample *samples;
	unsigned int nr;
	unsigned int planned;
	unsigned int step;
	u64 run;
	struct bench_config config;
};

#ifdef __KERNEL__
int bench_add_group(const struct bench_group *group, struct module *module);
void bench_remove_group(const struct bench_group *group);

/**
 * BENCH_GROUP() - define a group, the one of a module, and register it while the module is loaded
 * @id: name of the variable
 *
 * The other arguments are the fields of struct bench_group.  A module with several groups calls
 * bench_add_group() and bench_remove_group() for each in functions of its own.
 */
#define BENCH_GROUP(id, ...)						\
static const struct bench_group id = { __VA_ARGS__ };			\
static int __init id##_register(void)					\
{									\
	return bench_add_group(&id, THIS_MODULE);			\
}									\
static void __exit id##_unregister(void)				\
{									\
	bench_remove_group(&id);					\
}									\
module_init(id##_register);						\
module_exit(id##_unregister)
#else
/**
 * bench_register() - add a group to the benchmarks of a program
 * @group: the group; it stays where it is
 *
 * Context: before main() begins.  A group that cannot be used is named when the program
 * runs, and nothing is measured.
 */
void bench_register(const struct bench_group *group);

/**
 * BENCH_GROUP() - define a group and register it
 * @id: name of the variable
 *
 * The other arguments are the fields of struct bench_group.
 */
#define BENCH_GROUP(id, ...)						\
static const struct bench_group id = { __VA_ARGS__ };			\
static void __attribute__((constructor)) id##_register(void)		\
{									\
	bench_register(&id);						\
}
#endif

/**
 * BENCH_ROW() - the entry of a variant in the array of its group
 * @label: its name
 * @id: what BENCH_OPS() made
 */
#define BENCH_ROW(label, id)						\
	{								\
		.name = label,						\
		.op = id##_layouts,					\
		.nr_layouts = ARRAY_SIZE(id##_layouts),			\
	}

#endif /* KMARKERS_BENCH_H */
