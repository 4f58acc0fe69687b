// SPDX-License-Identifier: GPL-2.0-only
/* The message that is printed when a step of kmarkers_start() fails. */
#include <string.h>

#include <linux/printk.h>

#include "failure.h"

int native_failed(const char *what, int err)
{
	pr_err("kmarkers: %s: %s\n", what, strerror(-err));
	return err;
}
