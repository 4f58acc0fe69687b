// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keeps a module that is being unloaded in MODULE_STATE_GOING, after the notifiers of kmarkers and
 * before the kernel's own, until it is released.  Its parameters exist meanwhile.
 *
 *	hold		name of the module to keep; an empty line releases it
 *	held		1 while a module is kept
 *	perf		number of an event that perf is to use; 0 for none
 *	foreign_ops	number of parameters whose operations are in another module than their own
 */
#include <linux/compiler.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/notifier.h>
#include <linux/perf_event.h>
#include <linux/pgtable.h>
#include <linux/rculist.h>
#include <linux/rcupdate.h>
#include <linux/string.h>

static char hold[MODULE_NAME_LEN];
module_param_string(hold, hold, sizeof(hold), 0600);
static bool held;
module_param(held, bool, 0400);

static bool is_meant(const struct module *module)
{
	return sysfs_streq(hold, module->name);
}

/* The wait is limited, so that a failing test does not keep the module. */
static int on_module(struct notifier_block *nb, unsigned long event, void *data)
{
	unsigned long end = jiffies + 60 * HZ;

	if (event != MODULE_STATE_GOING || !is_meant(data))
		return NOTIFY_DONE;
	WRITE_ONCE(held, true);
	while (is_meant(data) && time_before(jiffies, end))
		msleep(20);
	WRITE_ONCE(held, false);
	return NOTIFY_DONE;
}

/* Runs after the notifiers of markers, values and probes, which have priorities 4 and 3. */
static struct notifier_block notifier = {
	.notifier_call = on_module,
	.priority = 2,
};

static bool is_foreign(const struct module *module, const struct kernel_param *param)
{
	unsigned long ops = (unsigned long)param->ops;

	if (ops < MODULES_VADDR || within_module(ops, module))
		return false;
	pr_info("%s: the operations of its parameter %s are in another module\n", module->name,
		param->name);
	return true;
}

static unsigned int count_foreign(const struct module *module)
{
	unsigned int i, count = 0;

	for (i = 0; i < module->num_kp; i++)
		count += is_foreign(module, &module->kp[i]);
	return count;
}

/*
 * Walk the kernel's list of modules, which is not exported, from the entry of this module.  The
 * head of the list is in the kernel's data.
 */
static int get_foreign(char *buffer, const struct kernel_param *param)
{
	struct module *module = THIS_MODULE;
	unsigned int count = 0;

	rcu_read_lock();
	do {
		if ((unsigned long)module >= MODULES_VADDR && module->state == MODULE_STATE_LIVE)
			count += count_foreign(module);
		module = list_entry_rcu(module->list.next, struct module, list);
	} while (module != THIS_MODULE);
	rcu_read_unlock();
	return sprintf(buffer, "%u\n", count);
}

static const struct kernel_param_ops foreign_ops = { .get = get_foreign };
module_param_cb(foreign_ops, &foreign_ops, NULL, 0400);

static struct perf_event *used;

static void stop_using(void)
{
	if (used)
		perf_event_release_kernel(used);
	used = NULL;
}

/* No lock is needed: the kernel serialises writes to parameters. */
static int set_perf(const char *value, const struct kernel_param *param)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr), .sample_period = 1,
	};
	struct perf_event *event;
	int err = kstrtou64(value, 0, &attr.config);

	if (err)
		return err;
	stop_using();
	if (!attr.config)
		return 0;
	event = perf_event_create_kernel_counter(&attr, 0, NULL, NULL, NULL);
	if (IS_ERR(event))
		return PTR_ERR(event);
	used = event;
	return 0;
}

static const struct kernel_param_ops perf_ops = { .set = set_perf };
module_param_cb(perf, &perf_ops, NULL, 0200);

static int __init going_init(void)
{
	return register_module_notifier(&notifier);
}

static void __exit going_exit(void)
{
	stop_using();
	unregister_module_notifier(&notifier);
}

module_init(going_init);
module_exit(going_exit);

MODULE_DESCRIPTION("Keeps modules that leave for a while");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
