// SPDX-License-Identifier: GPL-2.0-only
/* Init, exit and module notifier of the module kmarkers_immediate. */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/seq_file.h>
#include <linux/string.h>

#include <kmarkers/immediate.h>
#include <kmarkers/patcher.h>
#include <kmarkers/version.h>
#include <kmarkers/words.h>

#include "list.h"
#include "load.h"
#include "settable.h"
#include "updates.h"

DEFINE_SHOW_ATTRIBUTE(imv_list);

static struct dentry *dir;

/* Return text for the log that names the macro that made a site, such as "imv_read() of". */
static const char *describe_reading_macro(const struct patcher_site *site)
{
	if (site->flags & IMV_COMPARE)
		return "comparison with";
	if (site->flags & IMV_FLIP)
		return "imv_cmp_flip() or imv_xor_flip() of";
	return site->flags & IMV_BRANCH ? "imv_branch() of" : "imv_read() of";
}

/* Log each site in init text, which is freed after init. */
static void report_sites_in_init_text(const struct module *module, const struct kmarkers_span *span)
{
	const struct patcher_site *site;

	for (site = span->first; site < (const struct patcher_site *)span->end; site++) {
		unsigned long addr = patcher_site_addr(site);
		char name[64], *suffix;

		if (!within_module_init(addr, module))
			continue;
		snprintf(name, sizeof(name), "%ps", (void *)patcher_site_key(site));
		suffix = strstr(name, "__imv");
		if (suffix)
			*suffix = '\0';
		pr_err("module %s: %s %s is in %ps, which is freed after init: use _imv_read(), or make its function noinline and not __init\n",
		       module->name, describe_reading_macro(site), name, (void *)addr);
	}
}

static int register_value_table(struct module *module, const struct kmarkers_span *span)
{
	int err = imv_register_module_sites(module, span);

	if (err == -EPERM)
		report_sites_in_init_text(module, span);
	if (err)
		pr_err("module %s: table of immediate values refused, so the module is not loaded: error %d\n",
		       module->name, err);
	return err;
}

static int register_module_values(struct module *module)
{
	const void *needs = &imv_tables_need_immediate;
	struct kmarkers_span values, settable;
	int err;

	err = patcher_find_records(module, KMARKERS_SYMBOL(imv), needs,
				   sizeof(struct patcher_site), &values) ?:
	      patcher_find_records(module, KMARKERS_SYMBOL(settable), needs, sizeof(s32),
				   &settable);
	if (err)
		return err;
	if (!values.chunks && !settable.chunks)
		return patcher_refuse_lost_tables(module, needs);
	return register_value_table(module, &values) ?:
	       imv_settable_create_files(module, &settable);
}

static void unregister_module_values(struct module *module)
{
	imv_settable_remove_files(module);
	imv_unregister_module_sites(module);
}

/*
 * Module notifier.  MODULE_STATE_COMING is sent after relocation and before the module's init
 * function; an error aborts the load.  MODULE_STATE_GOING is sent after the exit function or after
 * a failed init.  The kernel removes the files of the module's parameters later, so functions that
 * set parameters may still run.
 */
static int handle_imv_module_event(struct notifier_block *nb, unsigned long event, void *data)
{
	int err = 0;

	if (event == MODULE_STATE_COMING)
		err = register_module_values(data);
	if (err || event == MODULE_STATE_GOING)
		unregister_module_values(data);
	return notifier_from_errno(err);
}

/*
 * This notifier must run between two other notifiers:
 * - after the notifier of kmarkers_markers (priority 4), which sets immediate values of the module
 *   being loaded, so that all sites of the module are patched in one batch;
 * - before the kernel's notifier that registers kprobe events waiting for the module (priority 1
 *   or 2), because a table is refused if one of its sites holds the int3 of a kprobe.
 */
static struct notifier_block module_notifier = {
	.notifier_call = handle_imv_module_event,
	.priority = 3,
};

static int __init immediate_init(void)
{
	int err = patcher_check_version(THIS_MODULE, KMARKERS_VERSION);

	if (err)
		return err;
	dir = debugfs_create_dir("immediate", patcher_get_debugfs_dir());
	debugfs_create_file("list", 0400, dir, NULL, &imv_list_fops);
	imv_settable_init(dir);
	err = register_module_notifier(&module_notifier);
	if (!err)
		return 0;
	imv_settable_exit();
	debugfs_remove_recursive(dir);
	return err;
}

static void __exit immediate_exit(void)
{
	imv_settable_exit();
	unregister_module_notifier(&module_notifier);
	debugfs_remove_recursive(dir);
	imv_remove_update_counters(NULL);
}

module_init(immediate_init);
module_exit(immediate_exit);

MODULE_DESCRIPTION("Immediate values: variables that are read as operands of instructions");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
MODULE_VERSION(KMARKERS_VERSION);
MODULE_ALIAS("immediate");
