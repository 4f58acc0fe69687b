// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module notifier that holds another module in MODULE_STATE_GOING until that module is released.
 * The notifier runs after the module notifiers of kmarkers and before the module notifiers of the
 * kernel.  While a module is held, its parameters still exist.  Parameters of this module:
 *
 *	hold		name of the module to hold; an empty line releases it
 *	held		1 while a module is held
 *	perf		ID of a trace event for which to open a perf event on CPU 0; 0 closes it
 *	perf_record	the last record that perf got, if it is of the marker fd_request: its fields,
 *			and the number of bytes behind them
 *	foreign_ops	number of module parameters whose kernel_param_ops are in another module
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
#include <linux/trace_events.h>

static char hold[MODULE_NAME_LEN];
module_param_string(hold, hold, sizeof(hold), 0600);
static bool held;
module_param(held, bool, 0400);

static bool is_module_to_hold(const struct module *module)
{
	return sysfs_streq(hold, module->name);
}

/* Wait until the module is released; for at most 60 seconds, in case a test fails. */
static int hold_going_module(struct notifier_block *nb, unsigned long event, void *data)
{
	unsigned long end = jiffies + 60 * HZ;

	if (event != MODULE_STATE_GOING || !is_module_to_hold(data))
		return NOTIFY_DONE;
	WRITE_ONCE(held, true);
	while (is_module_to_hold(data) && time_before(jiffies, end))
		msleep(20);
	WRITE_ONCE(held, false);
	return NOTIFY_DONE;
}

/* The notifiers of markers, immediate values and SDT probes run earlier, with priority 3 or 4. */
static struct notifier_block notifier = {
	.notifier_call = hold_going_module,
	.priority = 2,
};

static bool are_ops_in_other_module(const struct module *module, const struct kernel_param *param)
{
	unsigned long ops = (unsigned long)param->ops;

	if (ops < MODULES_VADDR || within_module(ops, module))
		return false;
	pr_info("module %s: parameter %s: its kernel_param_ops are in another module, which may be unloaded first\n",
		module->name, param->name);
	return true;
}

static unsigned int count_ops_in_other_modules(const struct module *module)
{
	unsigned int i, count = 0;

	for (i = 0; i < module->num_kp; i++)
		count += are_ops_in_other_module(module, &module->kp[i]);
	return count;
}

/*
 * In all live modules, count the parameters whose kernel_param_ops are in another module.  The
 * kernel's list of modules is not exported, so the walk begins at the entry of this module.  The
 * walk skips the head of the list, which is in the kernel's data, below MODULES_VADDR.
 */
static int print_foreign_ops_count(char *buffer, const struct kernel_param *param)
{
	struct module *module = THIS_MODULE;
	unsigned int count = 0;

	rcu_read_lock();
	do {
		if ((unsigned long)module >= MODULES_VADDR && module->state == MODULE_STATE_LIVE)
			count += count_ops_in_other_modules(module);
		module = list_entry_rcu(module->list.next, struct module, list);
	} while (module != THIS_MODULE);
	rcu_read_unlock();
	return sprintf(buffer, "%u\n", count);
}

static const struct kernel_param_ops foreign_ops = { .get = print_foreign_ops_count };
module_param_cb(foreign_ops, &foreign_ops, NULL, 0400);

static struct perf_event *open_event;
static char perf_record[80];
module_param_string(perf_record, perf_record, sizeof(perf_record), 0400);

/*
 * The record of a hit of the marker fd_request.  The last field gives the place of a string in the
 * record.
 */
struct request_record {
	struct trace_entry entry;
	unsigned long sector;
	u32 bytes;
	u16 name, name_bytes;
};

/* Store the text of a perf record, or an error text if a field is behind the end of the record. */
static void store_perf_record(struct perf_event *event, struct perf_sample_data *sample,
			      struct pt_regs *regs)
{
	const struct request_record *record = sample->raw->frag.data;
	unsigned int size = sample->raw->frag.size, end;

	end = size < sizeof(*record) ? size + 1 : record->name + record->name_bytes;
	if (end > size)
		snprintf(perf_record, sizeof(perf_record), "the record is too short: %u bytes", size);
	else
		snprintf(perf_record, sizeof(perf_record), "sector %lu bytes %u name %s, then %u",
			 record->sector, record->bytes, (const char *)record + record->name,
			 size - end);
}

static void close_perf_event(void)
{
	if (open_event)
		perf_event_release_kernel(open_event);
	open_event = NULL;
}

/*
 * Open or close the perf event.  No lock is needed: the kernel serialises writes to a module's
 * parameters.
 */
static int switch_perf_event(const char *value, const struct kernel_param *param)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr), .sample_period = 1,
		.sample_type = PERF_SAMPLE_RAW,
	};
	struct perf_event *event;
	int err = kstrtou64(value, 0, &attr.config);

	if (err)
		return err;
	close_perf_event();
	if (!attr.config)
		return 0;
	event = perf_event_create_kernel_counter(&attr, 0, NULL, store_perf_record, NULL);
	if (IS_ERR(event))
		return PTR_ERR(event);
	open_event = event;
	return 0;
}

static const struct kernel_param_ops perf_ops = { .set = switch_perf_event };
module_param_cb(perf, &perf_ops, NULL, 0200);

static int __init going_init(void)
{
	return register_module_notifier(&notifier);
}

static void __exit going_exit(void)
{
	close_perf_event();
	unregister_module_notifier(&notifier);
}

module_init(going_init);
module_exit(going_exit);

MODULE_DESCRIPTION("Holds a module in MODULE_STATE_GOING");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
