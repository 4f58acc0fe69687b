// SPDX-License-Identifier: GPL-2.0-only
/*
 * A live patch of a function of the module kmarkers_test_entry.  By default, the function is
 * te_plain(), which has an ftrace site.  The kernel must refuse to patch a recorded function (built
 * with entry.mk), because such a function has a nop for kmarkers_entry instead of an ftrace site.
 * The replacement returns the same value as te_plain(), and counts its calls.
 */
#include <linux/atomic.h>
#include <linux/livepatch.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

static char *function = "te_plain";
module_param(function, charp, 0400);
MODULE_PARM_DESC(function, "name of the function to replace");

static atomic_t calls = ATOMIC_INIT(0);
module_param_named(calls, calls.counter, int, 0400);
MODULE_PARM_DESC(calls, "number of calls of the replacement");

static int entry_patch_replacement(int value)
{
	atomic_inc(&calls);
	return value + 1;
}

static struct klp_func functions[] = {
	{
		.new_func = entry_patch_replacement,
	},
	{ }
};

static struct klp_object objects[] = {
	{
		.name = "kmarkers_test_entry",
		.funcs = functions,
	},
	{ }
};

static struct klp_patch patch = {
	.mod = THIS_MODULE,
	.objs = objects,
};

static int __init entry_patch_init(void)
{
	functions[0].old_name = function;
	return klp_enable_patch(&patch);
}

/* The module can be unloaded only after the patch is disabled through sysfs. */
static void __exit entry_patch_exit(void)
{
}

module_init(entry_patch_init);
module_exit(entry_patch_exit);

MODULE_INFO(livepatch, "Y");
MODULE_DESCRIPTION("A live patch of a module with recorded functions");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
