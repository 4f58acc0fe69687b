// SPDX-License-Identifier: GPL-2.0-only
/* Benchmarks of a module, one of which may have a fault that keeps the module from being loaded. */
#include <linux/kernel.h>
#include <linux/module.h>

#include <kmarkers/bench.h>

static char *fault = "";
module_param(fault, charp, 0400);
MODULE_PARM_DESC(fault, "what is wrong with the second of two benchmarks; empty for nothing");

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

static bench_op *const holed[BENCH_LAYOUTS] = { base_0 };

static void make_fault(void)
{
	static const char *const names[] = { "", "no/name", "control", "empty-loop", "test-first" };
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
	if (!strcmp(fault, "layout"))
		bad_variants[2].op = holed;
	if (!strcmp(fault, "few-layouts"))
		bad_variants[2].nr_layouts--;
	if (!strcmp(fault, "twice"))
		bad_variants[2].name = "base";
	if (!strcmp(fault, "clone"))
		bad_variants[1].name = "clone";
	if (!strcmp(fault, "loops"))
		second.loops[2] = 1;
	if (!strcmp(fault, "descending")) {
		second.loops[0] = 2;
		second.loops[1] = 1;
		second.loops[2] = 3;
	}
}

static int __init groups_init(void)
{
	int err;

	make_fault();
	err = bench_add_group(&first, THIS_MODULE);
	if (err)
		return err;
	err = bench_add_group(&second, THIS_MODULE);
	if (err)
		bench_remove_group(&first);
	return err;
}

static void __exit groups_exit(void)
{
	bench_remove_group(&second);
	bench_remove_group(&first);
	/* Once more, which does nothing. */
	bench_remove_group(&first);
}

module_init(groups_init);
module_exit(groups_exit);

MODULE_DESCRIPTION("Benchmarks of a module");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
