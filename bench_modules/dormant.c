// SPDX-License-Identifier: GPL-2.0-only
/* Checking that the markers that are measured while off are off. */
#include <linux/errno.h>
#include <linux/module.h>
#include <linux/printk.h>

#include <kmarkers/marker.h>

#include "dormant.h"

/**
 * bench_dormant_check() - check that every marker of this module is off
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
		if (iter.module != THIS_MODULE || !READ_ONCE(iter.marker->state__imv))
			continue;
		pr_warn("%s: marker %s is on\n", what, iter.marker->name);
		err = -EBUSY;
	}
	marker_iter_stop(&iter);
	return err;
}
