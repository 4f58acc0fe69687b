// SPDX-License-Identifier: GPL-2.0-only
/*
 * A live patch of a function of kmarkers_test_entry: of te_plain(), which the kernel's ftrace
 * knows, or of another one, which must be refused.  The replacement does the same as te_plain(),
 * and counts its calls.
 */
#include <linux/atomic.h>
#include <linux/livepatch.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

static char *function = "te_plain";
module_param(function, charp, 0400);
MODULE_PARM_DESC(function, "what is replaced");

static atomic_t calls = ATOMIC_INIT(0);
module_param_named(calls, calls.counter, int, 0400);
MODULE_PARM_DESC(calls, "of what replaces it");

static int entry_patch_plain(int value)
{
	atomic_inc(&calls);
	return value + 1;
}

static struct klp_func functions[] = {
	{
		.new_func = entry_patch_plain,
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
