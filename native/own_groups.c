// SPDX-License-Identifier: GPL-2.0-only
/*
 * The groups of kmbench: the built-in groups, then the group `planted`.  Users' programs are linked
 * with registered.c instead of this file.
 */
#include "../bench_modules/control.h"
#include "../bench_modules/groups.h"
#include "../bench_modules/ops.h"
#include "peers.h"
#include "planted.h"
#include "registered.h"

int native_check_registered_groups(void)
{
	bench_groups_init();
	bench_groups[bench_nr_groups++] = &native_planted;
	return 0;
}

u64 native_get_default_groups(void)
{
	return bench_get_group_mask() & ~(1ULL << (bench_nr_groups - 1));
}

void native_write_group_details_to_env(FILE *file)
{
	u64 buffer, cache;

	if (bench_read_cold_buffer(&buffer, &cache))
		fprintf(file, "cold_buffer_bytes=%llu\nlast_cache_bytes=%llu\n", buffer, cache);
	native_show_other_tracers_env(file);
}
