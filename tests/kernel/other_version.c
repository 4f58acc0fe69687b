// SPDX-License-Identifier: GPL-2.0-only
/* A module that reports another version of kmarkers as its own.  Loading the module must fail. */
#include <linux/module.h>

#include <kmarkers/patcher.h>

static int __init other_version_init(void)
{
	return patcher_check_version(THIS_MODULE, "0.9-other");
}
module_init(other_version_init);

MODULE_DESCRIPTION("Must not load: built for another version of kmarkers");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
