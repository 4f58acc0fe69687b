// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module with a switch that is read often and changed rarely. The immediate values
 * patches of 2008 kept prof_on, the profiler's switch, in the instructions of the
 * scheduler; here prof_on is in the instructions of a work item that runs every jiffy.
 *
 *	insmod example_profile.ko
 *	cd /sys/kernel/debug/kmarkers/immediate/values
 *	echo 1 > example_profile.prof_on
 *	cat /sys/module/example_profile/parameters/hits
 *
 * While prof_on is 0, the work item executes one nop for the switch and reads no data.
 */
#include <linux/module.h>
#include <linux/workqueue.h>

#include <kmarkers/immediate.h>

static DEFINE_IMV(bool, prof_on);
IMV_SETTABLE(prof_on, 0, 1);

static DEFINE_IMV(unsigned int, prof_step) = 1;
IMV_SETTABLE(prof_step, 1, 1000);

static unsigned long hits;
module_param(hits, ulong, 0444);
MODULE_PARM_DESC(hits, "runs of the work item while prof_on was set, multiplied by prof_step");

static void tick(struct work_struct *unused);
static DECLARE_DELAYED_WORK(ticker, tick);

static noinline void profile_hit(void)
{
	WRITE_ONCE(hits, hits + imv_read(prof_step));
}

static void tick(struct work_struct *unused)
{
	if (imv_branch(prof_on))
		profile_hit();
	schedule_delayed_work(&ticker, 1);
}

static int __init example_profile_init(void)
{
	schedule_delayed_work(&ticker, 1);
	return 0;
}

static void __exit example_profile_exit(void)
{
	cancel_delayed_work_sync(&ticker);
}

module_init(example_profile_init);
module_exit(example_profile_exit);

MODULE_DESCRIPTION("Example: a read-mostly switch on a hot path");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
