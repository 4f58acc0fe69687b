// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program with a benchmark: the times that a dormant marker and an atomic counter add to one step
 * of a hash function.
 *
 *	gcc $(pkg-config --cflags kmarkers-user) -O2 hash.c -o hash -lkmbench \
 *		$(pkg-config --libs kmarkers-user)
 *	kmarkers bench --program ./hash
 */
#include <linux/kernel.h>

#include <kmarkers/bench.h>
#include <kmarkers/marker.h>

static u32 hash = 1;
static u64 steps;

#define STEP()	WRITE_ONCE(hash, (READ_ONCE(hash) ^ 7) * 0x01000193)

BENCH_OPS(plain, STEP())
BENCH_OPS(plain_clone, STEP())
BENCH_OPS(marked, trace_mark(example_hash_step, "%u", hash); STEP())
BENCH_OPS(counted, __atomic_fetch_add(&steps, 1, __ATOMIC_RELAXED); STEP())

static const struct bench_variant variants[] = {
	BENCH_ROW("plain", plain),
	BENCH_ROW("plain-clone", plain_clone),
	BENCH_ROW("marked", marked),
	BENCH_ROW("counted", counted),
};

BENCH_GROUP(example_hash,
	.name = "example-hash",
	.variants = variants,
	.nr_variants = ARRAY_SIZE(variants))
