// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module with two benchmark groups.  The parameter "fault" selects a fault of the second group.
 * With most faults, loading the module must fail.
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched.h>

#include <kmarkers/bench.h>

static char *fault = "";
module_param(fault, charp, 0400);
MODULE_PARM_DESC(fault, "name of the fault of the second benchmark group; empty for none");

static u32 sum;

BENCH_OPS(base, WRITE_ONCE(sum, READ_ONCE(sum) + 1))

#define ROWS	BENCH_ROW("base", base), BENCH_ROW("base-clone", base), BENCH_ROW("other", base)

static const struct bench_variant variants[] = { ROWS };
static struct bench_variant bad_variants[BENCH_MAX_VARIANTS + 1] = { ROWS };

static const struct bench_group first = {
	.name = "test-first",
	.variants = variants,
	.nr_variants = ARRAY_SIZE(variants),
};

static struct bench_group second = {
	.name = "test-second",
	.variants = bad_variants,
	.nr_variants = ARRAY_SIZE(variants),
};

static bench_op *const lacks_layouts[BENCH_LAYOUTS] = { base_0 };

/* Variants without code to execute: fill_own_block() makes their samples. */
static const struct bench_variant own_variants[] = {
	{ .name = "sites", .measured = BENCH_SWITCH },
	{ .name = "rounds", .measured = BENCH_ROUNDS },
};

/* Index of the variant in the last sample of a block, and number of samples of a block. */
static unsigned int last_variant = 1;
static unsigned int own_samples = 2;

static int fill_own_block(u32 block, struct bench_sample *samples)
{
	samples[0] = (struct bench_sample) { .block = block, .size = 1, .value = 100 + block };
	samples[1] = (struct bench_sample) {
		.block = block, .variant = last_variant, .size = 1, .value = 3,
	};
	return 0;
}

static unsigned int return_samples_per_block(void)
{
	return own_samples;
}

static unsigned int return_no_samples(void)
{
	return 0;
}

/*
 * In the first call, when the group is added, return 2.  In later calls, return more samples than a
 * run may have.
 */
static unsigned int return_more_samples(void)
{
	return own_samples++ == 2 ? 2 : ~0U;
}

static void add_block_functions(void)
{
	second.variants = own_variants;
	second.nr_variants = ARRAY_SIZE(own_variants);
	second.block = fill_own_block;
	second.block_samples = return_samples_per_block;
}

static const char long_name[] = "a123456789b123456789c123456789d123456789e123456789f123456789g1234";

static void inject_block_fault(void)
{
	add_block_functions();
	if (!strcmp(fault, "block-alone"))
		second.block_samples = NULL;
	if (!strcmp(fault, "block-samples-alone"))
		second.block = NULL;
	if (!strcmp(fault, "block-empty"))
		second.block_samples = return_no_samples;
	if (!strcmp(fault, "block-grows"))
		second.block_samples = return_more_samples;
	if (!strcmp(fault, "block-stray"))
		last_variant = ARRAY_SIZE(own_variants);
	if (!strcmp(fault, "block-one"))
		second.nr_variants = 1;
}

static void inject_variant_fault(void)
{
	if (!strcmp(fault, "layout"))
		bad_variants[2].op = lacks_layouts;
	if (!strcmp(fault, "few-layouts"))
		bad_variants[2].nr_layouts--;
	if (!strcmp(fault, "twice"))
		bad_variants[2].name = "base";
	if (!strcmp(fault, "clone"))
		bad_variants[1].name = "clone";
	if (!strcmp(fault, "long-variant"))
		bad_variants[2].name = long_name;
	if (!strcmp(fault, "measured"))
		bad_variants[2].measured = BENCH_ROUNDS + 1;
	if (!strcmp(fault, "no-loop"))
		bad_variants[2].measured = BENCH_SWITCH;
}

static void inject_fault_into_groups(void)
{
	static const char *const names[] = {
		"", "no/name", "control", "empty-loop", "test-first", "start", "stop", "reset",
		"blocks", "cpu", "seed",
	};
	int name = match_string(names, ARRAY_SIZE(names), fault);

	if (*fault && name >= 0)
		second.name = names[name];
	if (!strcmp(fault, "nameless"))
		second.name = NULL;
	if (!strcmp(fault, "one-variant"))
		second.nr_variants = 1;
	if (!strcmp(fault, "many-variants"))
		second.nr_variants = BENCH_MAX_VARIANTS + 1;
	if (!strcmp(fault, "no-variants"))
		second.variants = NULL;
	if (!strcmp(fault, "loops"))
		second.loops[2] = 1;
	if (!strcmp(fault, "long-name"))
		second.name = long_name;
	if (!strcmp(fault, "lacks"))
		second.lacks = "a line\nblocks=1";
	inject_variant_fault();
	if (!strncmp(fault, "block-", 6))
		inject_block_fault();
	if (!strcmp(fault, "descending")) {
		second.loops[0] = 2;
		second.loops[1] = 1;
		second.loops[2] = 3;
	}
}

/*
 * Keep CPU 0 busy for @ms milliseconds, at a higher priority than the thread of a benchmark run.
 * Files that are read meanwhile show a run that has begun but has not measured anything.  @ms must
 * be less than 1000: the kernel throttles real-time threads that run for longer.
 */
static int keep_cpu_busy(void *ms)
{
	unsigned long until = jiffies + msecs_to_jiffies((unsigned long)ms);

	while (time_before(jiffies, until) && !kthread_should_stop())
		cpu_relax();
	while (!kthread_should_stop())
		msleep(1);
	return 0;
}

static struct task_struct *keeper;

static void stop_busy_thread(void)
{
	if (keeper)
		kthread_stop(keeper);
	keeper = NULL;
}

static int start_busy_thread(const char *text, const struct kernel_param *kp)
{
	struct task_struct *thread;
	unsigned long ms;
	int err = kstrtoul(text, 0, &ms);

	if (err)
		return err;
	/*
	 * Refuse the write while the module is being loaded: if init failed, the code of the thread
	 * would be freed.
	 */
	if (THIS_MODULE->state != MODULE_STATE_LIVE)
		return -EBUSY;
	stop_busy_thread();
	thread = kthread_create(keep_cpu_busy, (void *)ms, "test_keeper");
	if (IS_ERR(thread))
		return PTR_ERR(thread);
	kthread_bind(thread, 0);
	sched_set_fifo(thread);
	keeper = thread;
	wake_up_process(thread);
	return 0;
}

static const struct kernel_param_ops busy_ops = { .set = start_busy_thread };

module_param_cb(busy_ms, &busy_ops, NULL, 0200);
MODULE_PARM_DESC(busy_ms, "number of milliseconds for which to keep CPU 0 busy, from now");

static int __init groups_init(void)
{
	int err;

	inject_fault_into_groups();
	err = bench_add_group(&first, THIS_MODULE);
	if (err)
		return err;
	err = bench_add_group(&second, THIS_MODULE);
	/* The fault left-failed makes init fail without removing the groups. */
	if (err)
		bench_remove_group(&first);
	return err ?: !strcmp(fault, "left-failed") ? -ENODEV : 0;
}

static void __exit groups_exit(void)
{
	stop_busy_thread();
	if (!strcmp(fault, "left"))
		return;
	bench_remove_group(&second);
	bench_remove_group(&first);
	/* Removing a group a second time has no effect. */
	bench_remove_group(&first);
}

module_init(groups_init);
module_exit(groups_exit);

MODULE_DESCRIPTION("Benchmark groups of a module, with selectable faults");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
