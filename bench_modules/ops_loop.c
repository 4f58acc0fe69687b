// SPDX-License-Identifier: GPL-2.0-only
/*
 * empty-loop and memcpy-4096: what a dormant marker adds to a loop of nothing
 * and to a loop that copies 4096 bytes, as measured for Markers 0.20 in 2006.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include <kmarkers/marker.h>

#include "groups.h"

BENCH_OPS(empty_none, (void)0)
BENCH_OPS(empty_clone, (void)0)
BENCH_OPS(empty_generic,
	  trace_mark_flavour(generic, bench_empty_loop, NULL, "%d %p", 1, NULL))
BENCH_OPS(empty_immediate,
	  trace_mark_flavour(immediate, bench_empty_loop, NULL, "%d %p", 1, NULL))

static const struct bench_variant empty_variants[] = {
	BENCH_ROW("none", empty_none),
	BENCH_ROW("none-clone", empty_clone),
	BENCH_ROW("marker-generic", empty_generic),
	BENCH_ROW("marker-immediate", empty_immediate),
};

const struct bench_group bench_empty_loop = {
	.name = "empty-loop",
	.variants = empty_variants,
	.nr_variants = ARRAY_SIZE(empty_variants),
	.loops = { 2000, 10000 },
};

static u8 copy_from[4096] __aligned(4096), copy_to[4096] __aligned(4096);

/* The asm may read the copy for all the compiler knows, so it is made each time. */
#define COPY()								\
do {									\
	memcpy(copy_to, copy_from, sizeof(copy_to));			\
	asm volatile("" : : "r" (copy_to) : "memory");			\
} while (0)

BENCH_OPS(memcpy_none, COPY())
BENCH_OPS(memcpy_clone, COPY())
BENCH_OPS(memcpy_generic,
	  trace_mark_flavour(generic, bench_memcpy, NULL, "%d %p", 1, NULL);
	  COPY())
BENCH_OPS(memcpy_immediate,
	  trace_mark_flavour(immediate, bench_memcpy, NULL, "%d %p", 1, NULL);
	  COPY())

static const struct bench_variant memcpy_variants[] = {
	BENCH_ROW("none", memcpy_none),
	BENCH_ROW("none-clone", memcpy_clone),
	BENCH_ROW("marker-generic", memcpy_generic),
	BENCH_ROW("marker-immediate", memcpy_immediate),
};

const struct bench_group bench_memcpy_4096 = {
	.name = "memcpy-4096",
	.variants = memcpy_variants,
	.nr_variants = ARRAY_SIZE(memcpy_variants),
	.loops = { 50, 250 },
};
