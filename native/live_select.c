// SPDX-License-Identifier: GPL-2.0-only
/* Select variants of kernel code by the module parameter control of kmarkers_bench. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "live.h"

#define CONTROL	"/sys/module/kmarkers_bench/parameters/control"

FILE *native_live_env;

/* Select a variant of the code at a place of the kernel.  Return 0 or an error. */
int native_select_live_variant(const char *place, const char *variant)
{
	int file = open(CONTROL, O_WRONLY);
	int err = 0;

	if (file < 0 || dprintf(file, "%s %s", place, variant) < 0)
		err = -errno;
	if (err)
		fprintf(stderr, "kmlive: %s: %s %s: %s\n", CONTROL, place, variant, strerror(-err));
	if (file >= 0)
		close(file);
	return err;
}
