// SPDX-License-Identifier: GPL-2.0-only
/* The message that is printed when a step of kmarkers_start() fails. */
#include <stdio.h>
#include <string.h>

#include "failure.h"

int native_failed(const char *what, int err)
{
	fprintf(stderr, "kmarkers: %s: %s\n", what, strerror(-err));
	return err;
}
