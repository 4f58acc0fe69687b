// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module whose init function hits a marker: by default while RCU watches the CPU; with idle=1
 * while RCU does not watch the CPU, as in the idle loop.  A kernel with PROVE_RCU must report the
 * second case.
 */
#include <linux/context_tracking.h>
#include <linux/irqflags.h>
#include <linux/module.h>

#include <kmarkers/marker.h>

static bool idle;
module_param(idle, bool, 0444);

static unsigned int unwatched_hits;

static void count_unwatched_hit(void *probe_private, void *call_private, const char *fmt,
				va_list *args)
{
	unwatched_hits++;
}

static noinline void hit_unwatched_marker(void)
{
	trace_mark(unwatched, MARK_NOARGS);
}

static int __init unwatched_init(void)
{
	unsigned long flags;
	int error;

	error = marker_probe_register("unwatched", MARK_NOARGS, count_unwatched_hit, NULL);
	if (error)
		return error;
	local_irq_save(flags);
	if (idle)
		ct_idle_enter();
	hit_unwatched_marker();
	if (idle)
		ct_idle_exit();
	local_irq_restore(flags);
	return 0;
}

static void __exit unwatched_exit(void)
{
	marker_probe_unregister("unwatched", count_unwatched_hit, NULL);
	marker_synchronize_unregister();
	pr_info("marker unwatched: %u hits, with parameter idle=%d\n", unwatched_hits, idle);
}
module_init(unwatched_init);
module_exit(unwatched_exit);

MODULE_DESCRIPTION("A marker that is hit where RCU does not watch the CPU");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
