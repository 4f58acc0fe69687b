// SPDX-License-Identifier: GPL-2.0-only
/*
 * Module kmarkers_events: creates trace events for markers, SDT probes and recorded functions
 * (built with entry.mk).
 */
#include <linux/module.h>
#include <linux/notifier.h>

#include <kmarkers/event.h>
#include <kmarkers/patcher.h>
#include <kmarkers/version.h>

#include "../base/notifiers.h"
#include "sources.h"

/*
 * In MODULE_STATE_GOING, find a new owner for each event that the module owns, or remove the event.
 * The notifiers of the sources, which have a higher priority, have already dropped the module's
 * objects.
 */
static int handle_module_going(struct notifier_block *nb, unsigned long event, void *data)
{
	if (event == MODULE_STATE_GOING)
		kmarkers_events_handle_module_going(data);
	return NOTIFY_OK;
}

static struct notifier_block going_notifier = {
	.notifier_call = handle_module_going,
	.priority = KMARKERS_EVENTS_PRIORITY,
};

/*
 * In MODULE_STATE_LIVE, create the trace events of the module, whose init has succeeded. In
 * MODULE_STATE_GOING, free the module's events that the trace core's notifier, which runs earlier,
 * has removed.
 */
static int handle_module_live_or_gone(struct notifier_block *nb, unsigned long event, void *data)
{
	if (event == MODULE_STATE_LIVE)
		kmarkers_events_handle_module_live(data);
	else if (event == MODULE_STATE_GOING)
		kmarkers_events_handle_module_gone(data);
	return NOTIFY_OK;
}

static struct notifier_block last_notifier = {
	.notifier_call = handle_module_live_or_gone,
	.priority = -1,
};

static int __init events_init(void)
{
	int err = patcher_check_version(THIS_MODULE, KMARKERS_VERSION) ?: kmarkers_events_init();

	if (err)
		return err;
	err = kmarkers_register_notifiers(&going_notifier, &last_notifier);
	if (err)
		kmarkers_events_exit();
	return err;
}

/*
 * No event source is registered and no orphan exists now, because each of them would hold a
 * reference to this module.
 */
static void __exit events_exit(void)
{
	kmarkers_unregister_notifiers(&going_notifier, &last_notifier);
	kmarkers_events_exit();
}

module_init(events_init);
module_exit(events_exit);

MODULE_DESCRIPTION("Trace events created at run time");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
MODULE_VERSION(KMARKERS_VERSION);
MODULE_ALIAS("events");
