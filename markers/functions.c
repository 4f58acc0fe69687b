// SPDX-License-Identifier: GPL-2.0-only
/* Attach markers to functions that have no markers in their code, and detach these markers. */
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <kmarkers/words.h>

#include "controls.h"
#include "events.h"
#include "files.h"
#include "ftrace.h"
#include "functions.h"
#include "list.h"
#include "tables.h"

/*
 * Held while markers and the controls of their names are added or removed.  Lock order: attaching,
 * then the locks of files.c and controls.c.
 */
static DEFINE_MUTEX(attaching);
static LIST_HEAD(attached);

/*
 * Wait until no marker is being attached or detached, and forbid attaching and detaching until
 * marker_functions_unlock().  Otherwise a marker could be attached between the removal of the last
 * other marker of its name and the removal of the name's control, and inherit this control.
 */
void marker_functions_lock(void)
{
	mutex_lock(&attaching);
}

void marker_functions_unlock(void)
{
	mutex_unlock(&attaching);
}

/* Free a marker, and drop the marker's reference to this module. */
static int free_function_marker(struct function_marker *function)
{
	int err = marker_ftrace_free(function);

	/* After an error ftrace may still call code of this module, so keep this module loaded. */
	if (!err)
		module_put(THIS_MODULE);
	return err;
}

static int detach_function_marker(struct function_marker *function)
{
	list_del(&function->node);
	marker_tables_unregister_records(&function->record);
	marker_files_remove_directories();
	return free_function_marker(function);
}

static int register_function_marker(struct function_marker *function)
{
	struct kmarkers_span span = {
		.first = &function->record, .end = &function->record + 1,
		.bytes = sizeof(function->record),
	};

	return marker_tables_register_module(NULL, &span);
}

/*
 * Make a marker named @name at the entry of the function @symbol, and store it in @result.  While
 * the marker exists, the marker holds a reference to this module, because references to the trace
 * event do not keep this module loaded.
 */
static int make_function_marker(const char *symbol, const char *name,
				struct function_marker **result)
{
	struct function_marker *function;
	int err;

	if (marker_exists(name, NULL)) {
		pr_info("marker %s: a marker with this name already exists: choose another name\n",
			name);
		return -EEXIST;
	}
	function = kzalloc(sizeof(*function), GFP_KERNEL);
	if (!function)
		return -ENOMEM;
	if (!try_module_get(THIS_MODULE)) {
		kfree(function);
		return -ENODEV;
	}
	strscpy(function->name, name, sizeof(function->name));
	err = marker_ftrace_prepare(function, symbol) ?: register_function_marker(function);
	if (err)
		free_function_marker(function);
	else
		*result = function;
	return err;
}

/* Attach a marker to a function, and create the debugfs files and the trace event of the marker. */
static int attach_function_marker(const char *symbol, const char *name)
{
	struct function_marker *function;
	int err;

	err = make_function_marker(symbol, name, &function);
	if (err)
		return err;
	list_add_tail(&function->node, &attached);
	err = marker_files_add_directories(NULL);
	if (err) {
		detach_function_marker(function);
		return err;
	}
	marker_events_add_function(function);
	marker_controls_enable_new_events(NULL);
	return 0;
}

/**
 * marker_function_attach() - attach a marker to a function
 * @symbol: the function's name
 * @name: the marker's name, an identifier that no marker has yet
 *
 * While the marker is attached, this module cannot be unloaded.
 *
 * Context: may sleep.
 * Return: 0; -EINVAL for a malformed name; -ENOENT if there is no such symbol, or if the module of
 * the function is being loaded or unloaded; -EPERM if ftrace cannot trace the function or the
 * function is in a module's init text; -EEXIST if a marker has that name; -ENOMEM; -ENODEV if this
 * module is being unloaded; or, if probes are already registered for the name, an error of ftrace.
 */
int marker_function_attach(const char *symbol, const char *name)
{
	int err;

	if (!patcher_is_identifier(name) || strlen(name) >= MARKER_FUNCTION_NAME ||
	    strlen(symbol) >= KSYM_NAME_LEN)
		return -EINVAL;
	mutex_lock(&attaching);
	err = attach_function_marker(symbol, name);
	mutex_unlock(&attaching);
	return err;
}

/**
 * marker_function_detach() - detach a marker from its function
 * @name: the marker's name
 *
 * Context: may sleep; waits for functions that are being traced.
 * Return: 0; -ENOENT if no function has that marker; -EBUSY if the marker's trace event is enabled
 * or referenced, for instance by an event probe; or an error of ftrace.
 */
int marker_function_detach(const char *name)
{
	struct function_marker *function;
	int err = -ENOENT;

	mutex_lock(&attaching);
	list_for_each_entry(function, &attached, node) {
		if (strcmp(function->name, name))
			continue;
		err = marker_events_remove_function(function) ?: detach_function_marker(function);
		break;
	}
	mutex_unlock(&attaching);
	return err;
}

/**
 * marker_functions_detach_from_module() - detach markers from the functions of an unloading module
 * @module: the module
 *
 * Called before ftrace removes its data about the module's functions.  The trace events of the
 * markers are removed afterwards, by kmarkers_events_handle_module_going().
 *
 * Context: may sleep.
 */
void marker_functions_detach_from_module(const struct module *module)
{
	struct function_marker *function, *next;

	mutex_lock(&attaching);
	list_for_each_entry_safe(function, next, &attached, node) {
		if (function->owner != module)
			continue;
		pr_info("marker %s: detached from its function, because module %s is being unloaded\n",
			function->name, module->name);
		detach_function_marker(function);
	}
	mutex_unlock(&attaching);
}
