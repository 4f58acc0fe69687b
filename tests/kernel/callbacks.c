// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two tracepoint callbacks that contain markers.  callbacks_get(), a callback of the kernel's
 * tracepoint module_get, contains several markers.  callbacks_own() is a callback of a tracepoint
 * that this module defines.
 *
 * A write to the parameter "fire" executes the module's own tracepoint.  A write of 1 or 0 to the
 * parameter "itself" registers or unregisters callbacks_get() at module_get directly, without a
 * marker.
 */
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/string.h>
#include <trace/events/module.h>

#include <kmarkers/marker.h>

#include "callbacks.h"
#define CREATE_TRACE_POINTS
#include "own_trace.h"

static __always_inline void hit_callbacks_first(struct module *module)
{
	trace_mark_tp(callbacks_first, module_get, callbacks_get, "name %s", module->name);
}

void callbacks_get(void *data, struct module *module, unsigned long ip)
{
	hit_callbacks_first(module);
	hit_callbacks_first(module);
	trace_mark_tp(callbacks_first, module_get, callbacks_get, "name %s", module->name);
	trace_mark_tp(callbacks_second, module_get, callbacks_get, "ip %p", (void *)ip);
}
EXPORT_SYMBOL_GPL(callbacks_get);

void callbacks_own(void *data, unsigned long number)
{
	trace_mark_tp(example_tick, kmarkers_test_own, callbacks_own, "tick %lu", number);
}

static int fire_marker_on_write(const char *unused, const struct kernel_param *kp)
{
	trace_kmarkers_test_own(1);
	return 0;
}

static bool connected;

static int register_callbacks_get(bool on)
{
	int err = 0;

	if (on && !connected)
		err = register_trace_module_get(callbacks_get, NULL);
	else if (!on && connected)
		err = unregister_trace_module_get(callbacks_get, NULL);
	if (!err)
		connected = on;
	return err;
}

static int set_callbacks_get(const char *text, const struct kernel_param *kp)
{
	bool on;

	return kstrtobool(text, &on) ?: register_callbacks_get(on);
}

static const struct kernel_param_ops fire_ops = { .set = fire_marker_on_write };
static const struct kernel_param_ops itself_ops = { .set = set_callbacks_get };
module_param_cb(fire, &fire_ops, NULL, 0200);
module_param_cb(itself, &itself_ops, NULL, 0200);

static int __init callbacks_init(void)
{
	return 0;
}

static void __exit callbacks_exit(void)
{
	register_callbacks_get(false);
	tracepoint_synchronize_unregister();
}

module_init(callbacks_init);
module_exit(callbacks_exit);

MODULE_DESCRIPTION("Tracepoint callbacks that contain markers");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
