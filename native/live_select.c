// SPDX-License-Identifier: GPL-2.0-only
/* Select variants of kernel code by the parameter "control" of the module kmarkers_bench. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "live.h"

#define CONTROL	"/sys/module/kmarkers_bench/parameters/control"

FILE *native_live_env;

/* Select a variant of a live benchmark (see bench_modules/live.h).  Return 0 or an error. */
int native_select_live_variant(const char *benchmark, const char *variant)
{
	int file = open(CONTROL, O_WRONLY);
	int err = 0;

	if (file < 0 || dprintf(file, "%s %s", benchmark, variant) < 0)
		err = -errno;
	if (err)
		fprintf(stderr, "kmlive: cannot write \"%s %s\" to %s: %s\n", benchmark, variant,
			CONTROL, strerror(-err));
	if (file >= 0)
		close(file);
	return err;
}
