// SPDX-License-Identifier: GPL-2.0-only
/* Check that markers that are measured as dormant are off. */
#include <linux/errno.h>
#include <linux/module.h>
#include <linux/printk.h>

#include <kmarkers/marker.h>

#include "dormant.h"
#include "groups.h"

/* The modules of the groups; NULL for those of this one.  */
static const struct module *owners[BENCH_MAX_GROUPS];

/* Set the module of a group; NULL stands for this module. */
void bench_dormant_own(unsigned int group, const struct module *module)
{
	WRITE_ONCE(owners[group], module);
}

/* Return the module that registered a group; NULL for the groups of this module. */
const struct module *bench_dormant_owner(unsigned int group)
{
	return READ_ONCE(owners[group]);
}

/* Is a module one whose markers are measured?  Its address alone is used. */
static bool is_measured(const struct module *module)
{
	unsigned int i;

	for (i = 0; i < BENCH_MAX_GROUPS; i++)
		if (module && READ_ONCE(owners[i]) == module)
			return true;
	return module == THIS_MODULE;
}

/**
 * bench_dormant_check() - check that every marker of this module, and of those with groups, is off
 * @what: text for the log that says what fails because a marker is on
 *
 * Context: may sleep.
 * Return: 0, or -EBUSY after logging a marker that is on.
 */
int bench_dormant_check(const char *what)
{
	struct marker_iter iter;
	int err = 0;

	marker_iter_reset(&iter);
	for (marker_iter_start(&iter); iter.marker && !err; marker_iter_next(&iter)) {
		if (!is_measured(iter.module) || !READ_ONCE(iter.marker->state__imv))
			continue;
		pr_warn("%s: marker %s is on\n", what, iter.marker->name);
		err = -EBUSY;
	}
	marker_iter_stop(&iter);
	return err;
}
