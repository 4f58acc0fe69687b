/* SPDX-License-Identifier: GPL-2.0-only */
/* Benchmark groups, each defined in a file ops_*.c. */
#ifndef BENCH_MODULES_OPS_H
#define BENCH_MODULES_OPS_H

#include <kmarkers/bench.h>

/*
 * Attributes of a function whose callers must pass all arguments and save all caller-saved
 * registers, as if the compiler could not see the function's code.
 */
#if __has_attribute(noipa)
#define BENCH_EXTERNAL	__attribute__((noipa)) noinline
#else
#define BENCH_EXTERNAL	noinline
#endif

extern const struct bench_group bench_empty_loop;
extern const struct bench_group bench_memcpy_4096;
extern const struct bench_group bench_density_empty;
extern const struct bench_group bench_density_full;
extern const struct bench_group bench_density_spread;
extern const struct bench_group bench_density_one;
extern const struct bench_group bench_marker_enabled;
extern const struct bench_group bench_cold_branch;
extern const struct bench_group bench_cold_branch_overlapped;
extern const struct bench_group bench_cold_branch_pages;
extern const struct bench_group bench_cold_icache_l1;
extern const struct bench_group bench_cold_icache_l2;
extern const struct bench_group bench_cold_icache_l3;
extern const struct bench_group bench_cold_icache_memory;
extern const struct bench_group bench_getppid_quiet;
extern const struct bench_group bench_getppid_pressure;
extern const struct bench_group bench_nop_encodings;
extern const struct bench_group bench_xadd_prefix;
extern const struct bench_group bench_xadd_prefix_contended;
extern const struct bench_group bench_function_entry;
extern const struct bench_group bench_sdt_dormant;
extern const struct bench_group bench_sdt_enabled;
extern const struct bench_group bench_sdt_trapped;
extern const struct bench_group bench_lock_pair_spinlock;
extern const struct bench_group bench_lock_pair_mutex;
extern const struct bench_group bench_lock_pair_rwlock_read;
extern const struct bench_group bench_lock_pair_rwlock_write;
extern const struct bench_group bench_lock_pair_rwsem_read;
extern const struct bench_group bench_lock_pair_rwsem_write;
extern const struct bench_group bench_arm_scaling;
extern const struct bench_group bench_arm_stall;

bool bench_read_cold_buffer(u64 *buffer, u64 *cache);

#ifdef __KERNEL__
extern const struct bench_group bench_peers_dormant;
extern const struct bench_group bench_peers_enabled;
extern const struct bench_group bench_peer_kprobe_optimised;
extern const struct bench_group bench_peer_fprobe;
extern const struct bench_group bench_peer_bpf_raw_tracepoint;
extern const struct bench_group bench_peer_bpf_fentry;
extern const struct bench_group bench_peer_bpf_kprobe;
#endif

#ifndef __KERNEL__
/* This group is not const, because its variants depend on the installed tracers. */
extern struct bench_group bench_empty_loop_peers;
#endif

#endif /* BENCH_MODULES_OPS_H */
