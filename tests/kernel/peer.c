// SPDX-License-Identifier: GPL-2.0-only
/*
 * A second test module, which reads an immediate value of kmarkers_test before and after changing
 * the value, and has a marker whose probe may be registered before this module is loaded.
 */
#include <linux/module.h>

#include <kmarkers/marker.h>

#include "shared.h"

static unsigned long long expect;
module_param(expect, ullong, 0400);
MODULE_PARM_DESC(expect, "value that test_shared must have when this module is loaded");

static noinline u64 read_shared(void)
{
	return imv_read(test_shared);
}

static noinline void hit_marker(int number)
{
	trace_mark(test_peer, "number %d", number);
}

static int __init peer_init(void)
{
	if (read_shared() != expect) {
		pr_info("immediate value test_shared is 0x%llx, expected 0x%llx\n", read_shared(),
			expect);
		return -EINVAL;
	}
	if (test_set_shared(expect + 1) || read_shared() != expect + 1 ||
	    test_read_shared() != expect + 1)
		return -EIO;
	if (test_set_shared(expect) || read_shared() != expect)
		return -EIO;
	hit_marker(1);
	return 0;
}

static void __exit peer_exit(void)
{
	hit_marker(2);
}

module_init(peer_init);
module_exit(peer_exit);

MODULE_DESCRIPTION("Second test module: values and markers across modules");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
