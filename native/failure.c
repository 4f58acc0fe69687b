// SPDX-License-Identifier: GPL-2.0-only
/* Print why a step of kmarkers_start(), or another operation of the library, failed. */
#include <string.h>

#include <linux/printk.h>

#include "failure.h"

int native_report_failure(const char *operation, int err)
{
	pr_err("kmarkers: %s: %s\n", operation, strerror(-err));
	return err;
}
