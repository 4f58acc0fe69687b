// SPDX-License-Identifier: GPL-2.0-only
/*
 * A second module.  It reads an immediate value of the first module before and after a
 * change, and holds markers whose probes may be registered before it is loaded.
 */
#include <linux/module.h>

#include <kmarkers/marker.h>

#include "shared.h"

static unsigned long long expect;
module_param(expect, ullong, 0400);
MODULE_PARM_DESC(expect, "what the shared value must be when this module is loaded");

static noinline u64 read_shared(void)
{
	return imv_read(test_shared);
}

static noinline void hit(int number)
{
	trace_mark(test_peer, "number %d", number);
}

static int __init peer_init(void)
{
	if (read_shared() != expect) {
		pr_info("shared value is 0x%llx\n", read_shared());
		return -EINVAL;
	}
	if (test_set_shared(expect + 1) || read_shared() != expect + 1 ||
	    test_read_shared() != expect + 1)
		return -EIO;
	if (test_set_shared(expect) || read_shared() != expect)
		return -EIO;
	hit(1);
	return 0;
}

static void __exit peer_exit(void)
{
	hit(2);
}

module_init(peer_init);
module_exit(peer_exit);

MODULE_DESCRIPTION("Second test module: values and markers across modules");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
