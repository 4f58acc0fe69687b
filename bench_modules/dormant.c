// SPDX-License-Identifier: GPL-2.0-only
/*
 * Check that all markers of kmarkers_bench, and of modules that added benchmarks, are disabled.
 * This is required because the benchmarks measure the cost of disabled markers.
 */
#include <linux/errno.h>
#include <linux/module.h>
#include <linux/printk.h>

#include <kmarkers/marker.h>

#include "dormant.h"
#include "groups.h"

/* The module that added each group; NULL for a group of kmarkers_bench. */
static const struct module *owners[BENCH_MAX_GROUPS];

/* Set the module that added a group; NULL for kmarkers_bench. */
void bench_set_group_owner(unsigned int group, const struct module *module)
{
	WRITE_ONCE(owners[group], module);
}

/* Return the module that added a group; NULL for the groups of kmarkers_bench. */
const struct module *bench_get_group_owner(unsigned int group)
{
	return READ_ONCE(owners[group]);
}

/* Return true if a module has benchmark groups. */
static bool has_benchmark_groups(const struct module *module)
{
	unsigned int i;

	for (i = 0; i < BENCH_MAX_GROUPS; i++)
		if (module && READ_ONCE(owners[i]) == module)
			return true;
	return module == THIS_MODULE;
}

/**
 * bench_check_markers_disabled() - check that all markers of benchmark modules are disabled
 * @log_prefix: beginning of the log line, such as "benchmark run not started"
 *
 * Context: may sleep.
 * Return: 0, or -EBUSY after logging the name of an enabled marker.
 */
int bench_check_markers_disabled(const char *log_prefix)
{
	struct marker_iter iter;
	int err = 0;

	marker_iter_reset(&iter);
	for (marker_iter_start(&iter); iter.marker && !err; marker_iter_next(&iter)) {
		if (!has_benchmark_groups(iter.module) || !READ_ONCE(iter.marker->state__imv))
			continue;
		pr_warn("%s: marker %s is enabled: disconnect its probes\n", log_prefix,
			iter.marker->name);
		err = -EBUSY;
	}
	marker_iter_stop(&iter);
	return err;
}
