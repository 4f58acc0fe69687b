/* SPDX-License-Identifier: GPL-2.0-only */
/* Sizes of the CPU's caches. */
#ifndef BENCH_MODULES_CACHES_H
#define BENCH_MODULES_CACHES_H

#include <linux/types.h>

/**
 * struct bench_caches - sizes of the caches, in bytes
 * @code: L1 instruction cache
 * @middle: L2 cache
 * @last: last-level cache (L2 if there is no L3)
 */
struct bench_caches {
	u64 code;
	u64 middle;
	u64 last;
};

void bench_read_caches(struct bench_caches *caches);
unsigned int bench_round_up_log2(u64 bytes);

#endif /* BENCH_MODULES_CACHES_H */
