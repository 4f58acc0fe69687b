// SPDX-License-Identifier: GPL-2.0-only
/* The module kmarkers_markers: finds the tables of client modules as they load. */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/seq_file.h>

#include <kmarkers/immediate.h>
#include <kmarkers/marker.h>
#include <kmarkers/patcher.h>
#include <kmarkers/version.h>
#include <kmarkers/words.h>

#include "control_file.h"
#include "event_probe.h"
#include "events.h"
#include "files.h"
#include "functions.h"
#include "look.h"
#include "names.h"
#include "raw.h"
#include "stubs.h"
#include "tables.h"
#include "tracepoint.h"

static struct dentry *dir;

/* Print the file list, after pending trace events were added. */
static int list_show(struct seq_file *m, void *unused)
{
	marker_events_flush();
	return marker_list_show(m, unused);
}
DEFINE_SHOW_ATTRIBUTE(list);

/* Is a probe in a module that is going?  The module should have unregistered it. */
static bool is_probe_leaving(void *data, const char *name, unsigned long code)
{
	struct module *module = data;

	if (!within_module(code, module))
		return false;
	pr_warn("%s left its probe %ps of marker %s registered: disconnected\n",
		module->name, (void *)code, name);
	return true;
}

/* The marker whose state is at an address, or NULL if it is of another module. */
static const struct marker *find_marker(const struct kmarkers_span *markers, unsigned long state)
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
 * Refuse markers in text that is freed after init, where compilers may also have inlined a function
 * that has one.  The table of immediate values is refused for such a site in any case; here the
 * marker's name and place are known.
 */
static int check_freed(struct module *module, const struct kmarkers_span *markers)
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
		marker = find_marker(markers, patcher_site_key(site));
		if (!marker)
			continue;
		pr_err("%s: marker %s (%s:%u, %s) is in %ps, which is freed after init: use _trace_mark(), or make its function noinline and not __init\n",
		       module->name, marker->name, marker->file, marker->line, marker->func,
		       (void *)addr);
		err = -EPERM;
	}
	return err;
}

static int add_marker_module(struct module *module)
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
	if (!stubs.chunks && !markers.chunks)
		return patcher_check_tables(module, needs);
	return check_freed(module, &markers) ?: marker_stubs_add(module, &stubs) ?:
	       marker_tables_add(module, &markers) ?: marker_files_add(module);
}

static void drop_marker_module(struct module *module)
{
	bool marked = marker_exists(NULL, module);

	marker_tables_drop(module);
	if (marked)
		marker_files_remove();
}

static void lose_module(struct module *module)
{
	/*
	 * Detaching functions drops references to this module, which orphaned events may have to
	 * take.
	 */
	__module_get(THIS_MODULE);
	marker_functions_drop(module);
	marker_raw_flush();
	marker_tables_disconnect(is_probe_leaving, module);
	drop_marker_module(module);
	marker_events_module_going(module);
	module_put(THIS_MODULE);
}

/*
 * Module notifier.  COMING: before the module's init; GOING: when its exit function has run or its
 * init has failed.  What sets its parameters may run until the notifiers have returned, and longer.
 */
static int handle_marker_module(struct notifier_block *nb, unsigned long event, void *data)
{
	struct module *module = data;
	int err = 0;

	if (event == MODULE_STATE_COMING) {
		err = add_marker_module(module);
		if (err) {
			pr_err("%s: table of markers refused: error %d\n", module->name, err);
			drop_marker_module(module);
		}
	} else if (event == MODULE_STATE_GOING) {
		lose_module(module);
	}
	return notifier_from_errno(err);
}

/* Runs before the notifier of immediate values, so that markers have their states by then. */
static struct notifier_block module_notifier = {
	.notifier_call = handle_marker_module,
	.priority = 4,
};

/*
 * Connect the callbacks of a module to tracepoints, which call them at once.  So this
 * notifier runs after that of immediate values, which are stored into text that does not
 * run yet, and after the kernel's own notifiers of priority 1 and 0: before those, a
 * static key of the module could be switched on without its jumps being changed, and
 * the kernel would crash when it finds that out, as the key is switched off.
 * Trace events come when the module's init has succeeded: nothing that follows them may fail.
 */
static int on_ready(struct notifier_block *nb, unsigned long event, void *data)
{
	int err = 0;

	if (event == MODULE_STATE_COMING)
		err = marker_tracepoints_connect(data);
	else if (event == MODULE_STATE_LIVE)
		marker_events_module_live(data);
	else if (event == MODULE_STATE_GOING)
		marker_events_module_gone(data);
	return notifier_from_errno(err);
}

static struct notifier_block ready_notifier = {
	.notifier_call = on_ready,
	.priority = -1,
};

static int register_notifiers(void)
{
	int err = register_module_notifier(&module_notifier);

	if (err)
		return err;
	err = register_module_notifier(&ready_notifier);
	if (err)
		unregister_module_notifier(&module_notifier);
	return err;
}

/* Print the file stats. */
static int nested_show(struct seq_file *m, void *unused)
{
	seq_printf(m, "nested %lu\n", marker_event_nested());
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(nested);

static int __init markers_init(void)
{
	int err = patcher_check_version(THIS_MODULE, KMARKERS_VERSION);

	if (err)
		return err;
	err = marker_event_init();
	if (err)
		return err;
	err = marker_events_init();
	if (err)
		goto err_event;
	dir = debugfs_create_dir("markers", patcher_debugfs_dir());
	debugfs_create_file("list", 0400, dir, NULL, &list_fops);
	debugfs_create_file("stats", 0400, dir, NULL, &nested_fops);
	marker_files_init(dir);
	marker_control_file_init(dir);
	err = register_notifiers();
	if (err)
		goto err_files;
	return 0;

err_files:
	marker_control_file_exit();
	debugfs_remove_recursive(dir);
	marker_events_exit();
err_event:
	marker_event_exit();
	return err;
}

/* When this runs, no client is loaded, and no function has a marker: both hold this module. */
static void __exit markers_exit(void)
{
	marker_control_file_exit();
	debugfs_remove_recursive(dir);
	unregister_module_notifier(&ready_notifier);
	unregister_module_notifier(&module_notifier);
	marker_raw_flush();
	marker_events_exit();
	marker_names_free();
	marker_event_exit();
}

module_init(markers_init);
module_exit(markers_exit);

MODULE_DESCRIPTION("Static markers with probes connected at run time");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
MODULE_VERSION(KMARKERS_VERSION);
MODULE_ALIAS("markers");
