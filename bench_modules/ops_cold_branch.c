// SPDX-License-Identifier: GPL-2.0-only
/*
 * cold-branch: a branch that is never taken and depends on an immediate value, read or
 * as a jump, on a byte that is always in L1, or on a random byte of a buffer larger
 * than the caches, as measured for immediate values in 2008.
 *
 * In cold-branch a fence in every pass, base included, keeps out-of-order
 * execution from hiding the wait; cold-branch-overlapped has no fence and shows how
 * much of the wait stays hidden.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/vmalloc.h>

#include <kmarkers/immediate.h>

#include "ops.h"
#include "walk.h"

#define BUFFER_ORDER	26	/* 64 MiB */

static u8 *cold_buffer;
static u64 cold_walk = 1;
static unsigned long taken;
static u8 hot_byte;
static DEFINE_IMV(u8, cold_branch);

/* Every variant computes the pointer, even if it does not use it. */
#define PASS(fence, condition)						\
	u8 *line;							\
									\
	cold_walk = walk_next(cold_walk);				\
	line = walk_line(cold_buffer, BUFFER_ORDER, cold_walk);		\
	asm volatile(fence : "+r" (line) : : "memory");			\
	if (unlikely(condition))					\
		taken++

#define VARIANTS(id, fence)						\
BENCH_OPS(id##_base, PASS(fence, 0))					\
BENCH_OPS(id##_base_clone, PASS(fence, 0))				\
BENCH_OPS(id##_immediate, PASS(fence, imv_read(cold_branch)))		\
BENCH_OPS(id##_jump, PASS(fence, imv_branch(cold_branch)))		\
BENCH_OPS(id##_l1_hit, PASS(fence, READ_ONCE(hot_byte)))		\
BENCH_OPS(id##_memory, PASS(fence, READ_ONCE(*line)))			\
									\
static const struct bench_variant id##_variants[] = {			\
	BENCH_ROW("base", id##_base),					\
	BENCH_ROW("base-clone", id##_base_clone),			\
	BENCH_ROW("immediate", id##_immediate),				\
	BENCH_ROW("jump", id##_jump),					\
	BENCH_ROW("l1-hit", id##_l1_hit),				\
	BENCH_ROW("memory", id##_memory),				\
}

VARIANTS(serialised, "lfence");
VARIANTS(overlapped, "");

static int setup_cold(void)
{
	cold_buffer = vmalloc(1UL << BUFFER_ORDER);
	if (!cold_buffer)
		return -ENOMEM;
	/* The buffer is written, so that every page gets memory of its own. */
	memset(cold_buffer, 1, 1UL << BUFFER_ORDER);
	memset(cold_buffer, 0, 1UL << BUFFER_ORDER);
	return 0;
}

static void teardown_cold(void)
{
	vfree(cold_buffer);
}

#define GROUP(label, id, fewer, more)					\
{									\
	.name = label,							\
	.variants = id##_variants,					\
	.nr_variants = ARRAY_SIZE(id##_variants),			\
	.loops = { fewer, more },					\
	.setup = setup_cold,						\
	.teardown = teardown_cold,					\
}

const struct bench_group bench_cold_branch = GROUP("cold-branch", serialised, 64, 320);
const struct bench_group bench_cold_branch_overlapped =
	GROUP("cold-branch-overlapped", overlapped, 500, 1500);
