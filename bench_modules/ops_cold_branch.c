// SPDX-License-Identifier: GPL-2.0-only
/*
 * cold-branch: a branch never taken that depends on an immediate value, read or as
 * a jump, on a byte that is always in L1, or on a random byte of a buffer beyond the caches,
 * as measured for immediate values in 2008.  A fence in every pass, base
 * included, keeps out-of-order execution from hiding the wait.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/vmalloc.h>

#include <kmarkers/immediate.h>

#include "groups.h"
#include "walk.h"

#define BUFFER_ORDER	26	/* 64 MiB */

static u8 *buffer;
static u64 walk = 1;
static unsigned long taken;
static u8 hot_byte;
static DEFINE_IMV(u8, cold_branch);

/* The pointer is computed in every variant, and used or not. */
#define PASS(condition)							\
	u8 *line;							\
									\
	walk = walk_next(walk);						\
	line = walk_line(buffer, BUFFER_ORDER, walk);			\
	asm volatile("lfence" : "+r" (line) : : "memory");		\
	if (unlikely(condition))					\
		taken++

BENCH_OPS(base, PASS(0))
BENCH_OPS(base_clone, PASS(0))
BENCH_OPS(immediate, PASS(imv_read(cold_branch)))
BENCH_OPS(jump, PASS(imv_branch(cold_branch)))
BENCH_OPS(l1_hit, PASS(READ_ONCE(hot_byte)))
BENCH_OPS(memory, PASS(READ_ONCE(*line)))

static const struct bench_variant variants[] = {
	BENCH_ROW("base", base),
	BENCH_ROW("base-clone", base_clone),
	BENCH_ROW("immediate", immediate),
	BENCH_ROW("jump", jump),
	BENCH_ROW("l1-hit", l1_hit),
	BENCH_ROW("memory", memory),
};

static int setup(void)
{
	buffer = vmalloc(1UL << BUFFER_ORDER);
	if (!buffer)
		return -ENOMEM;
	/* Written, so that every page is one of its own. */
	memset(buffer, 1, 1UL << BUFFER_ORDER);
	memset(buffer, 0, 1UL << BUFFER_ORDER);
	return 0;
}

static void teardown(void)
{
	vfree(buffer);
}

const struct bench_group bench_cold_branch = {
	.name = "cold-branch",
	.variants = variants,
	.nr_variants = ARRAY_SIZE(variants),
	.loops = { 64, 320 },
	.setup = setup,
	.teardown = teardown,
};
