// SPDX-License-Identifier: GPL-2.0-only
/* A module whose init text uses imv_read() instead of _imv_read().  Loading it must fail. */
#include <linux/module.h>

#include <kmarkers/immediate.h>

static DEFINE_IMV(int, value) = 1;

static int __init bad_init(void)
{
	return imv_read(value) - 1;
}
module_init(bad_init);

MODULE_DESCRIPTION("An immediate value read in init text: cannot be loaded");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
