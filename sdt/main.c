// SPDX-License-Identifier: GPL-2.0-only
/* Module kmarkers_sdt: registers the SDT probes of other modules when these modules are loaded. */
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/workqueue.h>

#include <kmarkers/patcher.h>
#include <kmarkers/sdt.h>
#include <kmarkers/version.h>

#include "../base/notifiers.h"
#include "attach.h"
#include "events.h"
#include "files.h"
#include "notes.h"
#include "promote.h"
#include "registry.h"
#include "tables.h"

/* Guards promotion_may_run, and serialises writes to the parameter promote_after. */
static DEFINE_MUTEX(promotion_lock);
/*
 * True from the end of sdt_init() until sdt_exit(). While this variable is false, a write to the
 * parameter promote_after must not queue promotion_work: the parameter's file in sysfs exists
 * before sdt_init() ends, and still exists while sdt_exit() runs.
 */
static bool promotion_may_run;
static unsigned int promote_after;

static void promote_hot_sites(struct work_struct *work);
static DECLARE_DELAYED_WORK(promotion_work, promote_hot_sites);

/*
 * Run once a second: promote, from a breakpoint to a jump, the sites that were hit more than
 * promote_after times since the last run, and demote all other sites.
 */
static void promote_hot_sites(struct work_struct *work)
{
	unsigned int limit = READ_ONCE(promote_after);

	if (!limit)
		return;
	sdt_promote_hot_sites(limit);
	schedule_delayed_work(&promotion_work, HZ);
}

static int set_promote_after_param(const char *value, const struct kernel_param *param)
{
	int err;

	mutex_lock(&promotion_lock);
	err = param_set_uint(value, param);
	if (!err && promotion_may_run)
		schedule_delayed_work(&promotion_work, HZ);
	mutex_unlock(&promotion_lock);
	return err;
}

static void start_promotion_work(void)
{
	mutex_lock(&promotion_lock);
	promotion_may_run = true;
	if (promote_after)
		schedule_delayed_work(&promotion_work, HZ);
	mutex_unlock(&promotion_lock);
}

/* Stop promotion_work. On return the work is not running, and cannot be queued. */
static void stop_promotion_work(void)
{
	mutex_lock(&promotion_lock);
	promotion_may_run = false;
	mutex_unlock(&promotion_lock);
	cancel_delayed_work_sync(&promotion_work);
}

static const struct kernel_param_ops promote_after_ops = {
	.set = set_promote_after_param,
	.get = param_get_uint,
};
module_param_cb(promote_after, &promote_after_ops, &promote_after, 0600);
MODULE_PARM_DESC(promote_after,
		 "hits/s above which a site is promoted from breakpoint to jump; a site with fewer hits/s is demoted; 0: promotion and demotion only by command");

/*
 * True if @handler is code of the module @unloaded, which is being unloaded. In this case log that
 * the module has not detached the handler.
 */
static bool is_handler_of_unloaded_module(void *unloaded, const char *pattern,
					  unsigned long handler)
{
	struct module *module = unloaded;

	if (!within_module(handler, module))
		return false;
	pr_warn("module %s: unloaded while its handler %ps was attached to %s; the handler is detached now, because its code is freed\n",
		module->name, (void *)handler, pattern);
	return true;
}

/*
 * Log each site in init text, which is freed after init.  @record is the size of a record, which
 * begins with the struct patcher_site of a site or note.
 */
static void report_probes_in_init_text(const struct module *module,
				       const struct kmarkers_span *span, unsigned int record)
{
	const void *at;

	for (at = span->first; at < (const void *)span->end; at += record) {
		unsigned long addr = patcher_site_addr(at);
		const struct sdt_probe *probe;

		if (!within_module_init(addr, module))
			continue;
		probe = sdt_get_probe(at);
		pr_err("module %s: SDT probe %s:%s is in %ps, which is freed after init: make its function noinline and not __init\n",
		       module->name, probe->provider->name, probe->name, (void *)addr);
	}
}

/*
 * Register the sites and the notes of a module. One of the two tables may be missing: a module
 * whose files all define SDT_NOTES_ONLY has notes, but no sites.
 */
static int register_sdt_module(struct module *module)
{
	struct kmarkers_span sites, targets, notes;
	int err;

	err = patcher_find_records(module, KMARKERS_SYMBOL(sdt), &sdt_tables_need_sdt,
				   sizeof(struct patcher_site), &sites);
	err = err ?: patcher_find_records(module, KMARKERS_SYMBOL(sdttarget), &sdt_tables_need_sdt,
					  sizeof(struct sdt_target), &targets);
	err = err ?: patcher_find_records(module, KMARKERS_SYMBOL(sdtnote), &sdt_tables_need_sdt,
					  sizeof(struct sdt_note_record), &notes);
	if (err)
		return err;
	if (!sites.chunks && !notes.chunks)
		return patcher_refuse_lost_tables(module, &sdt_tables_need_sdt);
	err = sdt_register_sites(module, &sites, &targets) ?: sdt_register_notes(module, &notes);
	if (err == -EPERM) {
		report_probes_in_init_text(module, &sites, sizeof(struct patcher_site));
		report_probes_in_init_text(module, &notes, sizeof(struct sdt_note_record));
	}
	if (err)
		pr_err("module %s: table of SDT probes refused, so the module is not loaded: error %d\n",
		       module->name, err);
	return err;
}

/*
 * The module notifier handles two states.  COMING: before the module's init function runs.
 * GOING: after the module's exit function, or after the init function failed; the functions that
 * set the module's parameters may still run.
 */
static int handle_sdt_module_state(struct notifier_block *nb, unsigned long event, void *data)
{
	int err = 0;

	if (event == MODULE_STATE_COMING)
		err = register_sdt_module(data);
	else if (event == MODULE_STATE_GOING)
		sdt_detach_handlers_if(is_handler_of_unloaded_module, data);
	if (err || event == MODULE_STATE_GOING)
		sdt_unregister_module(data, !err);
	return notifier_from_errno(err);
}

/*
 * With priority 3, this notifier runs before the notifiers of kmarkers_events and of the kernel's
 * kprobe events.  kmarkers_events must find no trace events offered by a module that is being
 * unloaded.  The kernel's notifier (priority 1; in newer and in stable kernels 2) registers kprobe
 * events waiting for the module.  The sites must be registered earlier, because the patcher refuses
 * a site that holds the int3 of a kprobe.
 */
static struct notifier_block module_notifier = {
	.notifier_call = handle_sdt_module_state,
	.priority = 3,
};

static int handle_sdt_module_state_late(struct notifier_block *nb, unsigned long event, void *data)
{
	if (event == MODULE_STATE_GOING)
		sdt_unregister_module(data, false);
	return NOTIFY_OK;
}

/*
 * This notifier runs after the kernel's notifier of kprobes, whose priority is 0.  That notifier
 * marks the kprobes of the module as gone; afterwards, breakpoints beside these kprobes can be
 * removed.  Otherwise functions that set a parameter of the module could still hit the breakpoints.
 */
static struct notifier_block late_notifier = {
	.notifier_call = handle_sdt_module_state_late,
	.priority = -1,
};

/*
 * Match every handler: when this module is unloaded, all attached handlers were attached by
 * commands.
 */
static bool match_any_handler(void *data, const char *pattern, unsigned long handler)
{
	return true;
}

static int __init sdt_init(void)
{
	int err = patcher_check_version(THIS_MODULE, KMARKERS_VERSION);

	err = err ?: kmarkers_register_notifiers(&module_notifier, &late_notifier);
	if (err)
		return err;
	sdt_files_init();
	start_promotion_work();
	return 0;
}

/* No module with SDT probes is loaded, since each such module holds a reference to this module. */
static void __exit sdt_exit(void)
{
	sdt_files_exit();
	sdt_events_exit();
	stop_promotion_work();
	kmarkers_unregister_notifiers(&module_notifier, &late_notifier);
	sdt_detach_handlers_if(match_any_handler, NULL);
}

module_init(sdt_init);
module_exit(sdt_exit);

MODULE_DESCRIPTION("Statically defined tracing probes");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
MODULE_VERSION(KMARKERS_VERSION);
MODULE_ALIAS("sdt");
