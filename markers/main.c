// SPDX-License-Identifier: GPL-2.0-only
/*
 * The module kmarkers_markers: registers the markers of other modules when these modules are
 * loaded.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/seq_file.h>

#include <kmarkers/immediate.h>
#include <kmarkers/marker.h>
#include <kmarkers/patcher.h>
#include <kmarkers/version.h>
#include <kmarkers/words.h>

#include "../base/notifiers.h"
#include "control_file.h"
#include "controls.h"
#include "events.h"
#include "files.h"
#include "functions.h"
#include "list.h"
#include "names.h"
#include "raw.h"
#include "stubs.h"
#include "tables.h"
#include "tracepoint.h"

static struct dentry *dir;

/* Wait until queued trace events have been added, and print the debugfs file markers/list. */
static int list_show(struct seq_file *m, void *unused)
{
	marker_events_flush();
	return marker_list_show(m, unused);
}
DEFINE_SHOW_ATTRIBUTE(list);

/*
 * If the code of a probe is in @data, a module that is being unloaded, log the probe and return
 * true.
 */
static bool is_probe_in_module(void *data, const char *name, unsigned long code)
{
	struct module *module = data;

	if (!within_module(code, module))
		return false;
	pr_warn("module %s: unloaded, but its probe %ps of marker %s is still registered; the probe is disconnected now, because its code is freed\n",
		module->name, (void *)code, name);
	return true;
}

/* Return the marker whose state__imv is at the address @state, or NULL if there is none. */
static const struct marker *find_marker_by_state_addr(const struct kmarkers_span *markers,
						      unsigned long state)
{
	const s32 *record;

	for (record = markers->first; record < (const s32 *)markers->end; record++) {
		const struct marker *marker = (void *)((unsigned long)record + *record);

		if ((unsigned long)&marker->state__imv == state)
			return marker;
	}
	return NULL;
}

/*
 * Refuse a module with a marker in its init text, which is freed after init.  The source need not
 * show such a marker: the compiler may have inlined the marker's function into an init function.
 * kmarkers_immediate would refuse the module later, but could not log the marker's name and source
 * line.
 */
static int refuse_markers_in_init_text(struct module *module, const struct kmarkers_span *markers)
{
	const struct patcher_site *site;
	struct kmarkers_span sites;
	int err;

	err = patcher_find_records(module, KMARKERS_SYMBOL(imv), &imv_tables_need_immediate,
				   sizeof(*site), &sites);
	if (err)
		return err;
	for (site = sites.first; site < (const struct patcher_site *)sites.end; site++) {
		unsigned long addr = patcher_site_addr(site);
		const struct marker *marker;

		if (!within_module_init(addr, module))
			continue;
		marker = find_marker_by_state_addr(markers, patcher_site_key(site));
		if (!marker)
			continue;
		pr_err("module %s: marker %s (%s:%u, %s) is in %ps, which is freed after init: use _trace_mark(), or make its function noinline and not __init\n",
		       module->name, marker->name, marker->file, marker->line, marker->func,
		       (void *)addr);
		err = -EPERM;
	}
	return err;
}

static int register_module_markers(struct module *module)
{
	const void *needs = &marker_tables_need_markers;
	struct kmarkers_span stubs, markers;
	int err;

	err = patcher_find_records(module, KMARKERS_SYMBOL(stubs), needs,
				   sizeof(struct patcher_site), &stubs) ?:
	      patcher_find_records(module, KMARKERS_SYMBOL(markers), needs, sizeof(s32),
				   &markers);
	if (err)
		return err;
	/* A file with stubs has markers, too: DEFINE_MARKER() makes both. */
	if (!markers.chunks)
		return patcher_refuse_lost_tables(module, needs);
	err = refuse_markers_in_init_text(module, &markers) ?:
	      marker_stubs_register_module(module, &stubs);
	if (err)
		return err;
	marker_functions_lock();
	err = marker_tables_register_module(module, &markers) ?:
	      marker_files_add_directories(module);
	marker_functions_unlock();
	return err;
}

static void unregister_module_markers(struct module *module)
{
	bool marked = marker_exists(NULL, module);

	marker_functions_lock();
	marker_tables_unregister_module(module);
	if (marked)
		marker_files_remove_directories();
	marker_functions_unlock();
}

static void unregister_unloading_module(struct module *module)
{
	marker_functions_detach_from_module(module);
	marker_raw_flush();
	marker_tables_disconnect_if(is_probe_in_module, module);
	unregister_module_markers(module);
}

/*
 * Module notifier.  MODULE_STATE_COMING is sent before the init function of a module runs.
 * MODULE_STATE_GOING is sent after the exit function, or after an init function that failed.
 * Functions that set parameters of the module may still run during and after MODULE_STATE_GOING.
 */
static int handle_module_state(struct notifier_block *nb, unsigned long event, void *data)
{
	struct module *module = data;
	int err = 0;

	if (event == MODULE_STATE_COMING) {
		err = register_module_markers(module);
		if (err) {
			pr_err("module %s: table of markers refused, so the module is not loaded: error %d\n",
			       module->name, err);
			unregister_module_markers(module);
		}
	} else if (event == MODULE_STATE_GOING) {
		unregister_unloading_module(module);
	}
	return notifier_from_errno(err);
}

/*
 * This notifier sets the states of markers, so it runs before the notifier of immediate values,
 * which writes the states into the markers' sites.  This notifier also runs before the notifier of
 * kmarkers_events, as <kmarkers/event.h> requires.
 */
static struct notifier_block module_notifier = {
	.notifier_call = handle_module_state,
	.priority = 4,
};

/*
 * Second module notifier.  In MODULE_STATE_COMING it connects callbacks of the module to
 * tracepoints, which may call the callbacks immediately.  Therefore this notifier runs after
 *
 * - the notifier of immediate values, which patches the module's text before the text runs, and
 * - the kernel's notifiers of priority 1 and 0.  If a callback enabled a static key of the module
 *   before these notifiers run, the jumps of the key would not be patched, and disabling the key
 *   would crash the kernel.
 *
 * In MODULE_STATE_LIVE this notifier enables trace events, so it runs after the notifier of
 * kmarkers_events, which has priority -1 and adds these events.
 */
static int handle_module_state_late(struct notifier_block *nb, unsigned long event, void *data)
{
	int err = 0;

	if (event == MODULE_STATE_COMING)
		err = marker_tracepoints_connect(data);
	else if (event == MODULE_STATE_LIVE)
		marker_controls_enable_new_events(data);
	return notifier_from_errno(err);
}

static struct notifier_block late_notifier = {
	.notifier_call = handle_module_state_late,
	.priority = -2,
};

static int __init markers_init(void)
{
	int err = patcher_check_version(THIS_MODULE, KMARKERS_VERSION);

	if (err)
		return err;
	marker_events_init();
	dir = debugfs_create_dir("markers", patcher_get_debugfs_dir());
	debugfs_create_file("list", 0400, dir, NULL, &list_fops);
	marker_files_init(dir);
	marker_control_file_init(dir);
	err = kmarkers_register_notifiers(&module_notifier, &late_notifier);
	if (err) {
		marker_control_file_exit();
		debugfs_remove_recursive(dir);
		marker_events_exit();
		return err;
	}
	return 0;
}

/*
 * No module with markers is loaded now, and no marker is attached to a function, because each such
 * module or marker would hold a reference to this module.
 */
static void __exit markers_exit(void)
{
	marker_control_file_exit();
	debugfs_remove_recursive(dir);
	kmarkers_unregister_notifiers(&module_notifier, &late_notifier);
	marker_raw_flush();
	marker_events_exit();
	marker_names_free();
}

module_init(markers_init);
module_exit(markers_exit);

MODULE_DESCRIPTION("Markers in the code, to which probes are connected at run time");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
MODULE_VERSION(KMARKERS_VERSION);
MODULE_ALIAS("markers");
