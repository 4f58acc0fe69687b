// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module with a benchmark: the time that a dormant marker adds to one step of a hash function.
 *
 *	insmod example_benchmark.ko
 *	echo start example-hash > /sys/kernel/debug/kmarkers/bench/control
 *	cat /sys/kernel/debug/kmarkers/bench/example-hash/summary
 *	scripts/kmarkers collect results/local/mine --from metal=debugfs
 *	scripts/kmarkers report results/local/mine
 */
#include <linux/kernel.h>
#include <linux/module.h>

#include <kmarkers/bench.h>
#include <kmarkers/marker.h>

static u32 hash = 1;

#define STEP()	WRITE_ONCE(hash, (READ_ONCE(hash) ^ 7) * 0x01000193)

BENCH_OPS(plain, STEP())
BENCH_OPS(plain_clone, STEP())
BENCH_OPS(marked, trace_mark(example_hash_step, "%u", hash); STEP())

static const struct bench_variant variants[] = {
	BENCH_ROW("plain", plain),
	BENCH_ROW("plain-clone", plain_clone),
	BENCH_ROW("marked", marked),
};

BENCH_GROUP(example_hash,
	.name = "example-hash",
	.variants = variants,
	.nr_variants = ARRAY_SIZE(variants))

MODULE_DESCRIPTION("Example: a benchmark of a dormant marker in a hash function");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
