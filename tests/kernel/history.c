// SPDX-License-Identifier: GPL-2.0-only
/*
 * A client of the marker interfaces of 2006 to 2009.  The only header of markers that this file
 * includes is the historical <linux/marker.h>.
 *
 * A write of a marker's name to the parameter "set" connects a probe with the prototype of 2006 to
 * the marker; the parameter "connected" is the result.  Two tracepoint callbacks contain markers.
 */
#include <linux/marker.h>
#include <linux/module.h>
#include <trace/events/module.h>

#define HISTORY_LOAD_FORMAT "name %s"

DEFINE_MARKER(history_defined, "value %d");

static int connected, listed;
module_param(connected, int, 0444);
module_param(listed, int, 0444);
static unsigned long hits;
module_param(hits, ulong, 0444);

static void count_variadic_hit(const char *format, ...)
{
	hits++;
}

/* A callback of the tracepoint module_get.  Since Linux 2.6.35, @data is passed to callbacks. */
void probe_module_get(void *data, struct module *module, unsigned long ip);

void probe_module_get(void *data, struct module *module, unsigned long ip)
{
	trace_mark_tp(history_module_get, module_get, probe_module_get, "name %s ip %p",
		      module->name, (void *)ip);
}

/* A second callback of module_get.  callbacks.c and lodger.c also have a marker example_tick. */
void probe_module_tick(void *data, struct module *module, unsigned long ip);

void probe_module_tick(void *data, struct module *module, unsigned long ip)
{
	trace_mark_tp(example_tick, module_get, probe_module_tick, "tick %lu", ip);
}

static int set_name(const char *name, const struct kernel_param *kp)
{
	char word[64];

	strscpy(word, name, sizeof(word));
	connected = marker_set_probe(strim(word), NULL, count_variadic_hit);
	listed = marker_list_probe(count_variadic_hit);
	MARK(history_load, HISTORY_LOAD_FORMAT, word);
	return connected ? 0 : -ENOENT;
}

/* Handle a write to the parameter "list": log all markers. */
static int log_all_markers(const char *unused, const struct kernel_param *kp)
{
	listed = marker_list_probe(NULL);
	return 0;
}

static const struct kernel_param_ops set_ops = { .set = set_name };
static const struct kernel_param_ops list_ops = { .set = log_all_markers };
module_param_cb(set, &set_ops, NULL, 0200);
module_param_cb(list, &list_ops, NULL, 0200);

/* Hit the markers example_tick and history_defined. */
static int hit_both_markers(const char *unused, const struct kernel_param *kp)
{
	trace_mark(example_tick, "tick %lu", hits);
	marker_probe_call(&GET_MARKER(history_defined), NULL, "value %d", 1);
	return 0;
}

static const struct kernel_param_ops tick_ops = { .set = hit_both_markers };
module_param_cb(tick, &tick_ops, NULL, 0200);

static int __init history_init(void)
{
	_trace_mark(history_init, MARK_NOARGS);
	return 0;
}

static void __exit history_exit(void)
{
	marker_remove_probe(count_variadic_hit);
	marker_synchronize_unregister();
}

module_init(history_init);
module_exit(history_exit);

MODULE_DESCRIPTION("A client of the marker interfaces of 2006 to 2009");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
