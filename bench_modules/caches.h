/* SPDX-License-Identifier: GPL-2.0-only */
/* The caches of the CPU. */
#ifndef BENCH_MODULES_CACHES_H
#define BENCH_MODULES_CACHES_H

#include <linux/types.h>

/**
 * struct bench_caches - sizes of the caches, in bytes
 * @code: the first-level cache of instructions
 * @middle: the second level
 * @last: the last level, the second if there is no third
 */
struct bench_caches {
	u64 code;
	u64 middle;
	u64 last;
};

void bench_read_caches(struct bench_caches *caches);
unsigned int bench_order_of(u64 bytes);

#endif /* BENCH_MODULES_CACHES_H */
