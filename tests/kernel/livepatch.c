// SPDX-License-Identifier: GPL-2.0-only
/* A live patch of core text, to be used beside kmarkers: while enabled, getppid() returns 4444. */
#include <linux/livepatch.h>
#include <linux/module.h>

static long livepatch_getppid(void)
{
	return 4444;
}

static struct klp_func functions[] = {
	{
		.old_name = "__x64_sys_getppid",
		.new_func = livepatch_getppid,
	},
	{ }
};

static struct klp_object objects[] = {
	{
		.funcs = functions,
	},
	{ }
};

static struct klp_patch patch = {
	.mod = THIS_MODULE,
	.objs = objects,
};

static int __init livepatch_init(void)
{
	return klp_enable_patch(&patch);
}

/* The module can be unloaded only after the patch is disabled through sysfs. */
static void __exit livepatch_exit(void)
{
}

module_init(livepatch_init);
module_exit(livepatch_exit);

MODULE_INFO(livepatch, "Y");
MODULE_DESCRIPTION("A live patch of getppid");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
