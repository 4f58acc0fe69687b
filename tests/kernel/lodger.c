// SPDX-License-Identifier: GPL-2.0-only
/* A trace_mark_tp() marker whose tracepoint callback is defined in another module. */
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <trace/events/module.h>

#include <kmarkers/marker.h>

#include "callbacks.h"

static int set_hit(const char *unused, const struct kernel_param *kp)
{
	trace_mark_tp(example_tick, module_get, callbacks_get, "tick %lu", 0UL);
	return 0;
}

static const struct kernel_param_ops hit_ops = { .set = set_hit };
module_param_cb(hit, &hit_ops, NULL, 0200);

MODULE_DESCRIPTION("A marker whose tracepoint callback is in another module");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
