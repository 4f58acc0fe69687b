// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module with a typed marker. A work item hits the marker about every millisecond,
 * with a request of 512 bytes as arguments:
 *
 *	insmod example_typed.ko
 *	insmod example_typed_probe.ko		(adds up the bytes)
 *	cat /sys/module/example_typed_probe/parameters/bytes
 */
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/workqueue.h>

#include "example_typed.h"

DEFINE_MARKER(example_request);
EXPORT_MARKER_SYMBOL_GPL(example_request);

static void request(struct work_struct *work);
static DECLARE_DELAYED_WORK(requests, request);
static u64 sector;

static void request(struct work_struct *work)
{
	mark_typed(example_request, sector++, 512);
	schedule_delayed_work(&requests, msecs_to_jiffies(1));
}

static int __init example_typed_init(void)
{
	schedule_delayed_work(&requests, 0);
	return 0;
}

static void __exit example_typed_exit(void)
{
	cancel_delayed_work_sync(&requests);
}

module_init(example_typed_init);
module_exit(example_typed_exit);

MODULE_DESCRIPTION("Example: a module with a typed marker");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
