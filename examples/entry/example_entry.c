// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module whose function entries and exits can be counted: its Kbuild file includes entry.mk,
 * which compiles nops into its functions. The module can be loaded without any other module. About
 * every millisecond a work item sums up the digits of a number:
 *
 *	insmod example_entry.ko
 *	insmod kmarkers_patcher.ko
 *	insmod kmarkers_entry.ko
 *	echo 'example_entry: count' > /sys/kernel/debug/kmarkers/entry/control
 *	grep example_entry: /sys/kernel/debug/kmarkers/entry/list
 */
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/workqueue.h>

static void example_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(works, example_work);
static unsigned int number, sum;

static noinline unsigned int example_sum_digits(unsigned int value)
{
	return value < 10 ? value : value % 10 + example_sum_digits(value / 10);
}

static void example_work(struct work_struct *work)
{
	WRITE_ONCE(sum, example_sum_digits(number++));
	schedule_delayed_work(&works, msecs_to_jiffies(1));
}

static int __init example_entry_init(void)
{
	schedule_delayed_work(&works, 0);
	return 0;
}

static void __exit example_entry_exit(void)
{
	cancel_delayed_work_sync(&works);
}

module_init(example_entry_init);
module_exit(example_entry_exit);

MODULE_DESCRIPTION("Example: a module whose function entries and exits can be counted");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
