// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ten thousand markers of different names, many_0000 to many_9999.  Writing N to the parameter
 * "pass" hits each of them N times.  With HUNDRED_ONLY, the file has only the hundred markers
 * many_000 to many_099.
 */
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#include <kmarkers/marker.h>

#include "each.h"

#define ONE(n)		{ trace_mark(many_##n, "%d", value); }
#define TEN(n)		EACH_4(ONE, n)
#define HUNDRED(n)							\
static noinline void pass_##n(int value)				\
{									\
	EACH_3(TEN, n)							\
}

#ifdef HUNDRED_ONLY
HUNDRED(0)

static void (*const passes[])(int value) = { pass_0 };
#else
#define THOUSAND(n)	EACH_2(HUNDRED, n)

EACH_1(THOUSAND)

#define NAME(n)		pass_##n,
#define NAMES(n)	EACH_2(NAME, n)

static void (*const passes[])(int value) = {
	EACH_1(NAMES)
};
#endif

static int set_pass(const char *text, const struct kernel_param *unused)
{
	unsigned int i, times;
	int err = kstrtouint(text, 0, &times);

	if (err)
		return err;
	while (times--)
		for (i = 0; i < ARRAY_SIZE(passes); i++)
			passes[i](times);
	return 0;
}

static const struct kernel_param_ops pass_ops = {
	.set = set_pass,
};
module_param_cb(pass, &pass_ops, NULL, 0200);
MODULE_PARM_DESC(pass, "write N to hit each marker N times");

static int __init many_init(void)
{
	return 0;
}

static void __exit many_exit(void)
{
}

module_init(many_init);
module_exit(many_exit);

MODULE_DESCRIPTION("Ten thousand markers, or a hundred");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
