// SPDX-License-Identifier: GPL-2.0-only
/* A module whose init and exit functions wait while a parameter is 1. */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/module.h>

static bool stay_in_init, stay_in_exit;
module_param(stay_in_init, bool, 0644);
module_param(stay_in_exit, bool, 0644);
static ulong calls;
module_param(calls, ulong, 0444);

static noinline void slow_in_text(void)
{
	calls++;
	msleep(20);
}

static noinline void __init slow_in_init_text(void)
{
	slow_in_text();
}

/* The wait is limited, so that a failing test does not keep the module loaded. */
static int __init slow_init(void)
{
	unsigned long end = jiffies + 60 * HZ;

	do
		slow_in_init_text();
	while (READ_ONCE(stay_in_init) && time_before(jiffies, end));
	return 0;
}

static void __exit slow_exit(void)
{
	unsigned long end = jiffies + 60 * HZ;

	while (READ_ONCE(stay_in_exit) && time_before(jiffies, end))
		slow_in_text();
}

module_init(slow_init);
module_exit(slow_exit);

MODULE_DESCRIPTION("A test module whose init and exit functions wait");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
