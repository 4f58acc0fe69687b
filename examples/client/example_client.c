// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module with a marker and an immediate value.
 *
 * A work item runs periodically, and each run hits the marker. The period is an
 * immediate value that can be changed while the module runs:
 *
 *	insmod example_client.ko period_ms=100
 *	insmod example_probe.ko		(counts the ticks)
 *	echo 10 > /sys/module/example_client/parameters/period_ms
 */
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/workqueue.h>

#include <kmarkers/immediate.h>
#include <kmarkers/marker.h>

static DEFINE_IMV(unsigned int, period) = 100;

static void tick(struct work_struct *work);
static DECLARE_DELAYED_WORK(ticker, tick);
static unsigned long ticks;

static void tick(struct work_struct *work)
{
	/* The argument ++ticks is evaluated only while a probe is connected to the marker. */
	trace_mark(example_tick, "tick %lu", ++ticks);
	schedule_delayed_work(&ticker, msecs_to_jiffies(imv_read(period)));
}

static int set_period(const char *text, const struct kernel_param *kp)
{
	unsigned int ms;
	int err;

	err = kstrtouint(text, 0, &ms);
	if (err)
		return err;
	if (!ms || ms > 10000)
		return -EINVAL;
	return imv_set(period, ms);
}

static const struct kernel_param_ops period_ops = {
	.set = set_period,
	.get = param_get_uint,
};
module_param_cb(period_ms, &period_ops, &_imv_read(period), 0644);
MODULE_PARM_DESC(period_ms, "milliseconds between ticks, 1 to 10000 (default 100)");

static int __init example_client_init(void)
{
	schedule_delayed_work(&ticker, 0);
	return 0;
}

static void __exit example_client_exit(void)
{
	cancel_delayed_work_sync(&ticker);
}

module_init(example_client_init);
module_exit(example_client_exit);

MODULE_DESCRIPTION("Example: a module with a marker and an immediate value");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
