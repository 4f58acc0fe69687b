// SPDX-License-Identifier: GPL-2.0-only
/* The groups of kmbench are the built-in ones.  Users' programs link registered.c instead. */
#include "../bench_modules/groups.h"
#include "registered.h"

int native_check_registered_groups(void)
{
	bench_groups_init();
	return 0;
}
