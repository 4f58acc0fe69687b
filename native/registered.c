// SPDX-License-Identifier: GPL-2.0-only
/*
 * Groups that a user's program registers.  This file replaces bench_modules/groups.c and
 * native/peers.c, which are linked into kmbench.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../bench_modules/control.h"
#include "../bench_modules/groups.h"
#include "observer.h"
#include "peers.h"
#include "registered.h"

/*
 * If more groups than BENCH_MAX_GROUPS are registered, bench_nr_groups counts all of them, and
 * native_check_registered_groups() returns an error.
 */
const struct bench_group *bench_groups[BENCH_MAX_GROUPS];
unsigned int bench_nr_groups;

void bench_register(const struct bench_group *group)
{
	if (bench_nr_groups < BENCH_MAX_GROUPS)
		bench_groups[bench_nr_groups] = group;
	bench_nr_groups++;
}

void native_load_other_tracers(void)
{
}

void native_write_group_details_to_env(FILE *file)
{
}

bool native_observer_is_running(void)
{
	return false;
}

u64 native_get_default_groups(void)
{
	return bench_get_group_mask();
}

int native_check_registered_groups(void)
{
	unsigned int i, j;

	if (!bench_nr_groups || bench_nr_groups > BENCH_MAX_GROUPS) {
		fprintf(stderr, "kmbench: %u benchmarks are registered: register 1 to %u\n",
			bench_nr_groups, BENCH_MAX_GROUPS);
		return -EINVAL;
	}
	for (i = 0; i < bench_nr_groups; i++) {
		const char *why = bench_find_group_error(bench_groups[i]);

		for (j = 0; j < i && !why; j++)
			if (!strcmp(bench_groups[j]->name, bench_groups[i]->name))
				why = "its name is registered twice";
		if (why) {
			fprintf(stderr, "kmbench: benchmark %s is not valid: %s\n",
				bench_groups[i]->name ?: "(null)", why);
			return -EINVAL;
		}
	}
	return 0;
}
