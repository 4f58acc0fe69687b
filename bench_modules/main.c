// SPDX-License-Identifier: GPL-2.0-only
/* kmarkers_bench: the module that runs benchmarks inside the kernel. */
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/module.h>
#include <linux/printk.h>

#include <kmarkers/patcher.h>
#include <kmarkers/version.h>

#include "files.h"
#include "groups.h"
#include "register.h"
#include "run.h"
#include "thread.h"

static unsigned int blocks = 100;
module_param(blocks, uint, 0400);
MODULE_PARM_DESC(blocks, "number of blocks of a benchmark run, 1 to 100000; initial value of the debugfs file bench/config/blocks (default: 100)");

static int __init bench_init(void)
{
	int err = patcher_check_version(THIS_MODULE, KMARKERS_VERSION);

	if (err)
		return err;
	bench_session.config.blocks = blocks;
	if (bench_check_config(&bench_session.config, nr_cpu_ids)) {
		pr_err("module not loaded: parameter blocks=%u is not in the range from 1 to %u\n",
		       blocks, BENCH_MAX_BLOCKS);
		return -EINVAL;
	}
	bench_groups_init();
	err = bench_register_module_notifier();
	if (err)
		return err;
	bench_files_init();
	return 0;
}

static void __exit bench_exit(void)
{
	bench_files_exit();
	bench_thread_exit();
	bench_unregister_module_notifier();
}

module_init(bench_init);
module_exit(bench_exit);

MODULE_DESCRIPTION("Benchmarks of dormant and active instrumentation");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
MODULE_VERSION(KMARKERS_VERSION);
