// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module with a probe for the marker of example_client. The two modules can be loaded in either
 * order. The probe counts hits of the marker in /sys/module/example_probe/parameters/count.
 */
#include <linux/module.h>

#include <kmarkers/marker.h>

static unsigned long count;
module_param(count, ulong, 0444);
MODULE_PARM_DESC(count, "number of hits of the marker example_tick");

static void probe(void *private, void *call_private, const char *fmt, va_list *args)
{
	/* Only one work item hits this marker, so the increment need not be atomic. */
	WRITE_ONCE(count, count + 1);
}

static int __init example_probe_init(void)
{
	return marker_probe_register("example_tick", "tick %lu", probe, NULL);
}

static void __exit example_probe_exit(void)
{
	marker_probe_unregister("example_tick", probe, NULL);
	marker_synchronize_unregister();
}

module_init(example_probe_init);
module_exit(example_probe_exit);

MODULE_DESCRIPTION("Example: a probe for a marker");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
