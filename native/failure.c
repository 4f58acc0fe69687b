// SPDX-License-Identifier: GPL-2.0-only
/* Report a failed step of kmarkers_start(), or another operation that failed. */
#include <string.h>

#include <linux/printk.h>

#include "failure.h"

int native_report_failure(const char *operation, int err)
{
	pr_err("kmarkers: %s: %s\n", operation, strerror(-err));
	return err;
}
