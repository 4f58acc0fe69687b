// SPDX-License-Identifier: GPL-2.0-only
/* Groups of kmbench: the built-in benchmarks.  Users' programs have registered.c instead. */
#include "../bench_modules/groups.h"
#include "registered.h"

int native_registered_check(void)
{
	bench_groups_init();
	return 0;
}
