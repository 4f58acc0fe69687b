// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ten thousand SDT probes, many:::p0000 to many:::p9999; writing a number to the
 * parameter pass passes all of them that often.
 */
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#include <kmarkers/sdt.h>

#include "each.h"

SDT_PROVIDER_DEFINE(many);

#define DEFINE(n)	SDT_PROBE_DEFINE1(many, , , p##n, "int");
#define ONE(n)		{ SDT_PROBE1(many, , , p##n, value); }
#define DEFINE_TEN(n)	EACH_4(DEFINE, n)
#define TEN(n)		EACH_4(ONE, n)
#define HUNDRED(n)							\
EACH_3(DEFINE_TEN, n)							\
static noinline void pass_##n(int value)				\
{									\
	EACH_3(TEN, n)							\
}
#define THOUSAND(n)	EACH_2(HUNDRED, n)

EACH_1(THOUSAND)

#define NAME(n)		pass_##n,
#define NAMES(n)	EACH_2(NAME, n)

static void (*const passes[])(int value) = {
	EACH_1(NAMES)
};

static int pass(const char *text, const struct kernel_param *unused)
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
	.set = pass,
};
module_param_cb(pass, &pass_ops, NULL, 0200);
MODULE_PARM_DESC(pass, "pass all probes that often");

static int __init sdt_many_init(void)
{
	return 0;
}

static void __exit sdt_many_exit(void)
{
}

module_init(sdt_many_init);
module_exit(sdt_many_exit);

MODULE_DESCRIPTION("Ten thousand SDT probes");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
