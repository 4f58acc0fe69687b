/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The benchmark harness: groups of variants, measured in randomised blocks.
 *
 * A group measures one operation in several variants.  The first variant is the
 * baseline; the second is a copy of its code (the A/A clone, whose difference from the
 * baseline is noise).  Each variant is compiled at 8 code layouts in a kernel module, and at 32
 * in user space.
 *
 * A block uses one layout and runs every variant, in an order taken from a random Latin
 * square, once at every loop count of the group.  Each run is a timed window.  The cost of
 * an iteration is the slope of time over loop count, in which work that is done once per window,
 * such as reading the clock, cancels out.
 *
 * A new variant needs a BENCH_OPS() and a BENCH_ROW().  A new group needs a struct bench_group
 * and a line in groups.c; a group outside this repository needs only a BENCH_GROUP(), in a
 * module or a program.
 * A module with a BENCH_GROUP() is loaded after kmarkers_bench, and is measured by the debugfs
 * files of kmarkers_bench.  A program with a BENCH_GROUP() is linked with libkmbench.a, and is used
 * like kmbench:
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
 * The harness chooses the number of loop iterations in a window on the machine, such that the
 * window takes 10 to 30 microseconds.
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
#define BENCH_MAX_NAME		64	/* maximum length of a group's or a variant's name */

/**
 * typedef bench_op - function that runs one variant at one layout, an offset in a cache line
 * @loops: number of iterations of the measured code
 *
 * Return: duration of the iterations in TSC ticks.
 */
typedef u64 bench_op(u32 loops);

/* Kinds of samples, with the meaning of bench_sample.value and bench_sample.size. */
enum bench_measured {
	BENCH_LOOP,	/* value: TSC ticks of a loop; size: number of iterations */
	BENCH_SWITCH,	/* value: TSC ticks to switch sites on or off; size: number of sites */
	BENCH_PART,	/* value: TSC ticks of one phase of a switch of sites */
	BENCH_GAP,	/* value: TSC ticks of one gap in which another CPU was stalled */
	BENCH_ROUNDS,	/* value: number of CPU synchronisations while sites were switched once */
};

/**
 * struct bench_variant - a variant of a benchmark, initialised by BENCH_ROW()
 * @name: name made of letters, digits, - and _; at most BENCH_MAX_NAME characters
 * @op: array of the variant's functions, one for each layout (offset in a cache line); unused in a
 *	group with a block function
 * @nr_layouts: number of layouts, the same for all variants of a group
 * @measured: kind of the variant's samples; BENCH_LOOP in a group without a block function
 */
struct bench_variant {
	const char *name;
	bench_op *const *op;
	unsigned int nr_layouts;
	enum bench_measured measured;
};

/**
 * struct bench_group - the variants of a benchmark, which are measured together
 * @name: name of the benchmark, and of its directory; must not be a command of bench/control
 * @variants: baseline, A/A clone, then all others.  If @block is set, a variant only gives samples
 *	a name, and no baseline is required
 * @nr_variants: number of variants
 * @loops: loop counts of every variant, ascending.  If all are 0, the harness chooses loop counts
 *	for each variant before the first block, such that a window takes 10 to 30 microseconds
 * @setup: allocates what the variants need; may be NULL; returns 0 or an error
 * @teardown: undoes @setup; may be NULL
 * @select: called before the windows of a variant; may be NULL; returns 0 or an error
 * @block: custom function that measures a block and returns 0 or an error, or NULL for the
 *	standard function of run.c.  If @block is set, @loops is unused
 * @block_samples: returns the number of samples that @block writes, always the same, at least 1
 * @most_blocks: maximum number of blocks in a run of this group; 0 for no limit
 * @most_seconds: maximum number of seconds between the start of the first block and the start of
 *	the last block; 0 for no limit
 * @arms: true if @setup enables markers; if false, a run in the kernel fails while a marker of a
 *	module with benchmarks is enabled
 * @lacks: one line for the user that names the missing feature if @setup returns -ENODEV
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

/* Flags of struct bench_sample: in the window, the task was preempted or moved to another CPU. */
#define BENCH_PREEMPTED		0x1
#define BENCH_MIGRATED		0x2

/* One timed window.  enum bench_measured defines @value and @size. */
struct bench_sample {
	u64 value;
	u64 cycles;	/* core cycles, from bench_measure_cycles_per_tick(); 0 if unknown */
	u32 block;
	u32 size;
	u16 cpu;
	u8 variant;
	u8 layout;
	u8 position;
	u8 flags;
};

/* The configuration of a run, the same for every group that the run measures. */
struct bench_config {
	u32 blocks;
	u32 cpu;
	u64 seed;
};

/**
 * struct bench_result - the samples of the last run of a group
 * @samples: array, or NULL before the first run
 * @nr: number of samples taken; the run is complete if it equals @planned
 * @planned: number of samples in a complete run
 * @step: number of samples in each block
 * @run: number of the run; 0 in user space
 * @config: configuration of the run
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
 * BENCH_GROUP() - define the only group of a module, registered while the module is loaded
 * @id: name of the variable
 *
 * The other arguments are the fields of struct bench_group.  A module with several groups calls
 * bench_add_group() and bench_remove_group() for each group in its init and exit functions.  In
 * user space, the group is registered before main() begins, and a program may define several
 * groups.
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
 * @group: the group; must stay valid
 *
 * Context: before main() begins.  If a group is not valid, the program prints why when it runs, and
 * measures nothing.
 */
void bench_register(const struct bench_group *group);

/* In user space, the group is registered before main() begins. */
#define BENCH_GROUP(id, ...)						\
static const struct bench_group id = { __VA_ARGS__ };			\
static void __attribute__((constructor)) id##_register(void)		\
{									\
	bench_register(&id);						\
}
#endif

/**
 * BENCH_ROW() - initialise the entry of a variant in the array of its group
 * @label: name of the variant
 * @id: the @id that was passed to BENCH_OPS()
 */
#define BENCH_ROW(label, id)						\
	{								\
		.name = label,						\
		.op = id##_layouts,					\
		.nr_layouts = ARRAY_SIZE(id##_layouts),			\
	}

#endif /* KMARKERS_BENCH_H */
