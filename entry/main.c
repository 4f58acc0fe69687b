// SPDX-License-Identifier: GPL-2.0-only
/*
 * Module kmarkers_entry: registers the recorded functions (built with entry.mk) of other modules.
 */
#include <linux/module.h>
#include <linux/notifier.h>

#include <kmarkers/patcher.h>
#include <kmarkers/version.h>

#include "events.h"
#include "files.h"
#include "tables.h"

/*
 * The module notifier is called in three states of a module: in COMING before the init function, in
 * LIVE after the init function, and in GOING after the exit function or a failed init function.  A
 * module that was COMING when kmarkers_entry was loaded is registered in LIVE.  In GOING, the
 * functions that set the module's parameters may still run.
 */
static int handle_entry_module_state(struct notifier_block *nb, unsigned long event, void *data)
{
	if (event == MODULE_STATE_COMING || event == MODULE_STATE_LIVE)
		entry_register_module(data, event == MODULE_STATE_LIVE);
	else if (event == MODULE_STATE_GOING)
		entry_unregister_module(data);
	return NOTIFY_OK;
}

/*
 * This notifier runs before two notifiers whose priority is below 3:
 * - the notifier of kmarkers_events, so that a module being unloaded offers no trace events then;
 * - the kernel's notifier that registers kprobe events waiting for the module, because the patcher
 *   refuses a site that holds the int3 of a kprobe.
 */
static struct notifier_block module_notifier = {
	.notifier_call = handle_entry_module_state,
	.priority = 3,
};

static int __init entry_init(void)
{
	int err = patcher_check_version(THIS_MODULE, KMARKERS_VERSION) ?:
		  register_module_notifier(&module_notifier);

	if (err)
		return err;
	err = entry_register_loaded_modules();
	if (err)
		goto err_notifier;
	entry_files_init();
	return 0;

err_notifier:
	entry_unregister_all_modules();
	unregister_module_notifier(&module_notifier);
	return err;
}

static void __exit entry_exit(void)
{
	entry_files_exit();
	entry_events_exit();
	/* Until all sites are nops, the notifier must remove the tables of unloaded modules. */
	entry_unregister_all_modules();
	unregister_module_notifier(&module_notifier);
}

module_init(entry_init);
module_exit(entry_exit);

MODULE_DESCRIPTION("Hit counts and trace events of function entries and exits");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
MODULE_VERSION(KMARKERS_VERSION);
MODULE_ALIAS("entry");
