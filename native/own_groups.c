// SPDX-License-Identifier: GPL-2.0-only
/* The list of kmbench's own benchmarks. */
#include "../bench_modules/groups.h"
#include "registered.h"

int native_registered_check(void)
{
	bench_groups_init();
	return 0;
}
