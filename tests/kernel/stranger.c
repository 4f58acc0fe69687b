// SPDX-License-Identifier: GPL-2.0-only
/* A module that does not use kmarkers, but has a static key, for which the kernel patches text. */
#include <linux/jump_label.h>
#include <linux/module.h>

static DEFINE_STATIC_KEY_FALSE(strange);

static noinline bool is_key_on(void)
{
	return static_branch_unlikely(&strange);
}

static int __init stranger_init(void)
{
	bool before = is_key_on();

	static_branch_enable(&strange);
	return !before && is_key_on() ? 0 : -EILSEQ;
}

static void __exit stranger_exit(void)
{
	static_branch_disable(&strange);
}

module_init(stranger_init);
module_exit(stranger_exit);

MODULE_DESCRIPTION("A test module without sites");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
