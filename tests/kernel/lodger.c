// SPDX-License-Identifier: GPL-2.0-only
/* A marker of a tracepoint, with a callback that another module defines. */
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <trace/events/module.h>

#include <kmarkers/marker.h>

#include "callbacks.h"

static int hit(const char *unused, const struct kernel_param *kp)
{
	trace_mark_tp(example_tick, module_get, callbacks_get, "tick %lu", 0UL);
	return 0;
}

static const struct kernel_param_ops hit_ops = { .set = hit };
module_param_cb(hit, &hit_ops, NULL, 0200);

MODULE_DESCRIPTION("A marker for a callback of another module");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
