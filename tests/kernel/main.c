// SPDX-License-Identifier: GPL-2.0-only
/*
 * The test cases of tests/common, in a module.  A write of a case's name to the parameter "run"
 * runs the case, and a write of "all" runs all cases; the write returns when the cases have ended.
 * The parameter also works while the kernel is locked down, which restricts debugfs.  In debugfs,
 * kmarkers_test/results shows the results as KTAP.  A write of N to kmarkers_test/fail_at makes the
 * N-th allocation of the writing task fail.  A read of this file returns 1 until this allocation
 * has failed, then 0.
 */
#include <linux/debugfs.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../common/test.h"
#include "shared.h"

#define MAX_CASES	128
#define MAX_NAME	64

enum { NOT_RUN, PASSED, FAILED, SKIPPED };

static DEFINE_MUTEX(lock);
static struct {
	int state;
	const char *message;
} results[MAX_CASES];
static struct dentry *dir;

module_param_named(batches, test_batches, uint, 0600);
MODULE_PARM_DESC(batches, "number of batches in each stress test (default 1000)");

/* An immediate value whose sites must be patched before the module's init function runs. */
DEFINE_IMV(u64, test_shared) = 0x1122334455667788ULL;
EXPORT_IMV_SYMBOL_GPL(test_shared);

int test_set_shared(u64 value)
{
	return imv_set(test_shared, value);
}
EXPORT_SYMBOL_GPL(test_set_shared);

static void run_case(unsigned int i)
{
	const char *message = test_cases[i].run();

	if (test_cases[i].cleanup)
		test_cases[i].cleanup();
	results[i].message = message;
	if (!message)
		results[i].state = PASSED;
	else
		results[i].state = strncmp(message, "SKIP ", 5) ? FAILED : SKIPPED;
}

static int run_named_case(const char *name)
{
	bool all = !strcmp(name, "all");
	int err = -EINVAL;
	unsigned int i;

	for (i = 0; i < test_nr_cases && i < MAX_CASES; i++) {
		if (!all && strcmp(name, test_cases[i].name))
			continue;
		run_case(i);
		err = 0;
	}
	return err;
}

static int run_cases_on_write(const char *value, const struct kernel_param *param)
{
	char *name;
	int err;

	if (strlen(value) > MAX_NAME)
		return -EINVAL;
	name = kstrdup(value, GFP_KERNEL);
	if (!name)
		return -ENOMEM;
	mutex_lock(&lock);
	err = run_named_case(strim(name));
	mutex_unlock(&lock);
	kfree(name);
	return err;
}

static const struct kernel_param_ops run_ops = { .set = run_cases_on_write };
module_param_cb(run, &run_ops, NULL, 0200);
MODULE_PARM_DESC(run, "name of the case to run, or all; the write returns when all have ended");

static int results_show(struct seq_file *m, void *unused)
{
	unsigned int i;

	mutex_lock(&lock);
	seq_printf(m, "1..%u\n", test_nr_cases);
	for (i = 0; i < test_nr_cases && i < MAX_CASES; i++) {
		if (results[i].state == FAILED)
			seq_printf(m, "# %s: %s\n", test_cases[i].name,
				   results[i].message);
		seq_printf(m, "%s %u %s", results[i].state == FAILED ? "not ok" : "ok", i + 1,
			   test_cases[i].name);
		if (results[i].state == NOT_RUN)
			seq_puts(m, " # SKIP was not run");
		else if (results[i].state == SKIPPED)
			seq_printf(m, " # %s", results[i].message);
		seq_putc(m, '\n');
	}
	mutex_unlock(&lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(results);

static bool failing;

/*
 * Make allocation number @nth of this task fail, or no allocation if @nth is 0.  The kprobes of
 * nomem.c stay registered until the module is unloaded, because registering kprobes takes long.
 */
static int set_fail_at(void *unused, u64 nth)
{
	int err = 0;

	mutex_lock(&lock);
	if (nth && !failing) {
		err = test_enable_failing_allocations();
		failing = !err;
		if (err)
			test_disable_failing_allocations();
	}
	if (!err)
		test_fail_nth_allocation(nth);
	mutex_unlock(&lock);
	return err;
}

/* Handle a read of the file "fail_at": 0 if the allocation has failed, else 1. */
static int read_fail_at(void *unused, u64 *pending)
{
	*pending = !test_has_allocation_failed();
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(fail_at_fops, read_fail_at, set_fail_at, "%llu\n");

static int __init test_init(void)
{
	/* Init text must use _imv_read(), a plain load. */
	if (_imv_read(test_shared) != 0x1122334455667788ULL || test_read_shared() != 0x1122334455667788ULL) {
		pr_err("immediate value test_shared: sites lack the initial value before init\n");
		return -EINVAL;
	}
	dir = debugfs_create_dir("kmarkers_test", NULL);
	debugfs_create_file("results", 0400, dir, NULL, &results_fops);
	debugfs_create_file("fail_at", 0600, dir, NULL, &fail_at_fops);
	return 0;
}

static void __exit test_exit(void)
{
	debugfs_remove_recursive(dir);
	if (failing)
		test_disable_failing_allocations();
}

module_init(test_init);
module_exit(test_exit);

MODULE_DESCRIPTION("Tests of patcher, immediate and markers");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
