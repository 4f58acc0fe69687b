// SPDX-License-Identifier: GPL-2.0-only
/* Table of the built-in benchmark groups. */
#include <linux/kernel.h>
#include <linux/string.h>

#include "groups.h"
#include "ops.h"

static const struct bench_group *const builtin_groups[] = {
	&bench_empty_loop,
	&bench_memcpy_4096,
	&bench_density_empty,
	&bench_density_full,
	&bench_density_spread,
	&bench_density_one,
	&bench_marker_enabled,
	&bench_cold_branch,
	&bench_cold_branch_overlapped,
	&bench_cold_branch_pages,
	&bench_cold_icache_l1,
	&bench_cold_icache_l2,
	&bench_cold_icache_l3,
	&bench_cold_icache_memory,
	&bench_getppid_quiet,
	&bench_getppid_pressure,
	&bench_nop_encodings,
	&bench_xadd_prefix,
	&bench_xadd_prefix_contended,
	&bench_function_entry,
	&bench_sdt_dormant,
	&bench_sdt_enabled,
	&bench_sdt_trapped,
	&bench_lock_pair_spinlock,
	&bench_lock_pair_mutex,
	&bench_lock_pair_rwlock_read,
	&bench_lock_pair_rwlock_write,
#ifdef __KERNEL__
	&bench_lock_pair_rwsem_read,
	&bench_lock_pair_rwsem_write,
#endif
	&bench_arm_scaling,
	&bench_arm_stall,
#ifdef __KERNEL__
	&bench_peers_dormant,
	&bench_peers_enabled,
#ifdef CONFIG_OPTPROBES
	&bench_peer_kprobe_optimised,
#endif
	&bench_peer_fprobe,
	&bench_peer_bpf_raw_tracepoint,
	&bench_peer_bpf_fentry,
	&bench_peer_bpf_kprobe,
#else
	&bench_empty_loop_peers,
#endif
};

const struct bench_group *bench_groups[BENCH_MAX_GROUPS];
unsigned int bench_nr_groups;

/* Copy the built-in groups to bench_groups[].  Call this before any other use of bench_groups[]. */
void bench_groups_init(void)
{
	memcpy(bench_groups, builtin_groups, sizeof(builtin_groups));
	bench_nr_groups = ARRAY_SIZE(builtin_groups);
}
