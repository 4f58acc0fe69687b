// SPDX-License-Identifier: GPL-2.0-only
/* A module that makes the kernel log a warning.  The test job that loads this module must fail. */
#include <linux/module.h>

static int __init warn_init(void)
{
	WARN(1, "kmarkers_test_warn: on purpose\n");
	return 0;
}
module_init(warn_init);

static void __exit warn_exit(void)
{
}
module_exit(warn_exit);

MODULE_DESCRIPTION("A deliberate warning, because of which a test job must fail");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
