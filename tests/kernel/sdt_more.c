// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probes of the provider of kmarkers_test_sdt: one that is the same, one of other types,
 * and one with an argument of each kind.  Writing a number to the parameter pass passes
 * them that often; with first, that is done while the module is loaded.
 */
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#include <kmarkers/sdt.h>

SDT_PROVIDER_DEFINE(tsdt);
SDT_PROBE_DEFINE2(tsdt, , , io__start, "struct module *", "int");
SDT_PROBE_DEFINE1(tsdt, , , trapped, "const char *");
SDT_PROBE_DEFINE7(tsdt, , , kinds, "u8", "s16", "unsigned int", "char *", "enum kind",
		  "void (*)(int, int)", "mode_t");

static noinline int tsdt_more(int number)
{
	static const char *const names[] = { "even", "odd" };

	SDT_PROBE2(tsdt, , , io__start, THIS_MODULE, number);
	SDT_PROBE1(tsdt, , , trapped, names[number & 1]);
	SDT_PROBE7(tsdt, , , kinds, 255 - number, -number, ~0U - number, names[number & 1], number,
		   tsdt_more, number);
	return number;
}

static int pass(const char *text, const struct kernel_param *unused)
{
	unsigned int times;
	int err = kstrtouint(text, 0, &times);

	if (err)
		return err;
	while (times--)
		tsdt_more(times);
	return 0;
}

static const struct kernel_param_ops pass_ops = {
	.set = pass,
};
module_param_cb(pass, &pass_ops, NULL, 0200);
MODULE_PARM_DESC(pass, "pass all probes that often");

static unsigned int first;
module_param(first, uint, 0400);
MODULE_PARM_DESC(first, "pass them that often while the module is loaded");

static int __init test_sdt_more_init(void)
{
	while (first)
		tsdt_more(--first);
	return 0;
}

static void __exit test_sdt_more_exit(void)
{
}

module_init(test_sdt_more_init);
module_exit(test_sdt_more_exit);

MODULE_DESCRIPTION("SDT probes that another module has, too");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
