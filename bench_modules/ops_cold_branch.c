// SPDX-License-Identifier: GPL-2.0-only
/*
 * cold-branch: the cost of a branch that is never taken.  The condition of the branch is:
 * - an immediate value, as a constant in the code;
 * - an immediate value, as a jump that is patched;
 * - a byte that is always in L1;
 * - a random byte of a cold buffer, which is eight times as large as the last-level cache if memory
 *   allows;
 * - a comparison of a number with an immediate value; or
 * - a comparison of a number with four random bytes of the buffer.
 * The benchmark repeats a measurement that was made for immediate values in 2008.
 *
 * In cold-branch, every iteration contains a fence, even in the baseline.  The fence prevents
 * out-of-order execution from hiding the latency of the load.  cold-branch-overlapped has no fence.
 * The difference between the two benchmarks is the latency that out-of-order execution hides.
 *
 * cold-branch-pages compares a cold buffer in pages of 4 KiB with a cold buffer in pages of 2 MiB.
 * The difference is the cost of address translation (TLB misses).
 */
#include <linux/errno.h>
#include <linux/kernel.h>

#include <kmarkers/hypervisor.h>
#include <kmarkers/immediate.h>

#include "caches.h"
#include "chunks.h"
#include "ops.h"
#include "walk.h"

/*
 * log2 of the minimum and maximum buffer size: 16 MiB and 512 MiB.  A buffer that is larger than
 * the minimum takes at most a quarter of the available memory.
 */
#define LEAST_ORDER	24
#define MOST_ORDER	29
#define MOST_CHUNKS	(1 << (MOST_ORDER - BENCH_CHUNK_ORDER))
#define TIMES		8	/* size of the buffer as a multiple of the last-level cache */

static u8 *small_pages[MOST_CHUNKS], *huge_pages[MOST_CHUNKS];
static unsigned int cold_order;
static u64 last_cache;	/* size in bytes of the last-level cache when @cold_order was chosen */
static u64 cold_walk = 1;
static unsigned long taken;
static u8 hot_byte;
static DEFINE_IMV(u8, cold_branch);
static DEFINE_IMV(u32, cold_threshold);

/* Return the address of the cache line that @state selects in the buffer that @chunks form. */
static __always_inline u8 *pick_cold_line(u8 **chunks, u64 state)
{
	u64 at = state >> (64 - cold_order);

	return chunks[at >> BENCH_CHUNK_ORDER] + (at & (BENCH_CHUNK - 64));
}

/*
 * The body of a variant.  Each variant computes the address of a random line of the buffer, even if
 * its condition does not read that line, so that only the conditions differ.
 */
#define PASS_IN(chunks, fence, condition)				\
	u8 *line;							\
									\
	cold_walk = compute_next_walk_state(cold_walk);			\
	line = pick_cold_line(chunks, cold_walk);			\
	asm volatile(fence : "+r" (line) : : "memory");			\
	if (unlikely(condition))					\
		taken++

#define PASS(fence, condition)	PASS_IN(small_pages, fence, condition)

#define VARIANTS(id, fence)						\
BENCH_OPS(id##_base, PASS(fence, 0))					\
BENCH_OPS(id##_base_clone, PASS(fence, 0))				\
BENCH_OPS(id##_immediate, PASS(fence, imv_read(cold_branch)))		\
BENCH_OPS(id##_jump, PASS(fence, imv_branch(cold_branch)))		\
BENCH_OPS(id##_l1_hit, PASS(fence, READ_ONCE(hot_byte)))		\
BENCH_OPS(id##_memory, PASS(fence, READ_ONCE(*line)))			\
BENCH_OPS(id##_imv_compare, PASS(fence, imv_below((u32)cold_walk, cold_threshold))) \
BENCH_OPS(id##_variable_compare, PASS(fence, (u32)cold_walk < READ_ONCE(*(u32 *)line))) \
									\
static const struct bench_variant id##_variants[] = {			\
	BENCH_ROW("base", id##_base),					\
	BENCH_ROW("base-clone", id##_base_clone),			\
	BENCH_ROW("immediate", id##_immediate),				\
	BENCH_ROW("jump", id##_jump),					\
	BENCH_ROW("l1-hit", id##_l1_hit),				\
	BENCH_ROW("memory", id##_memory),				\
	BENCH_ROW("imv-compare", id##_imv_compare),			\
	BENCH_ROW("variable-compare", id##_variable_compare),		\
}

VARIANTS(serialised, "lfence");
VARIANTS(overlapped, "");

BENCH_OPS(pages_base, PASS("lfence", 0))
BENCH_OPS(pages_clone, PASS("lfence", 0))
BENCH_OPS(pages_small, PASS("lfence", READ_ONCE(*line)))
BENCH_OPS(pages_huge, PASS_IN(huge_pages, "lfence", READ_ONCE(*line)))

static const struct bench_variant pages_variants[] = {
	BENCH_ROW("base", pages_base),
	BENCH_ROW("base-clone", pages_clone),
	BENCH_ROW("memory-4k", pages_small),
	BENCH_ROW("memory-2m", pages_huge),
};

/*
 * Return log2 of the buffer size.  Under an emulator, return the minimum, because an emulator has
 * no caches and writes a large buffer slowly.
 */
static unsigned int choose_log2_of_buffer_bytes(void)
{
	struct bench_caches caches;
	unsigned int order;

	if (kmarkers_is_emulated())
		return LEAST_ORDER;
	bench_read_caches(&caches);
	last_cache = caches.last;
	order = bench_round_up_log2(TIMES * last_cache);
	if (order > MOST_ORDER)
		order = MOST_ORDER;
	while (order > LEAST_ORDER && 4ULL << order > bench_read_available_memory())
		order--;
	return order > LEAST_ORDER ? order : LEAST_ORDER;
}

/**
 * bench_read_cold_buffer() - read the sizes of the cold-branch buffer and of the last-level cache
 * @buffer: set to the size of the buffer of the last cold-branch benchmark, in bytes
 * @cache: set to the size of the last-level cache, in bytes
 *
 * Return: true; false if there was no buffer, or if the CPU is emulated and so has no caches.
 */
bool bench_read_cold_buffer(u64 *buffer, u64 *cache)
{
	*buffer = 1ULL << cold_order;
	*cache = last_cache;
	return last_cache > 0;
}

static unsigned int count_buffer_chunks(void)
{
	return 1U << (cold_order - BENCH_CHUNK_ORDER);
}

static int setup_cold_buffer(void)
{
	cold_order = choose_log2_of_buffer_bytes();
	return bench_alloc_chunks(small_pages, count_buffer_chunks(), false);
}

static void teardown_cold_buffer(void)
{
	bench_free_chunks(small_pages, count_buffer_chunks(), false);
}

static int setup_page_buffers(void)
{
	int err;

	if (kmarkers_is_emulated())
		return -ENODEV;
	err = setup_cold_buffer();
	if (err)
		return err;
	err = bench_alloc_chunks(huge_pages, count_buffer_chunks(), true);
	if (!err)
		return 0;
	teardown_cold_buffer();
	return err;
}

static void teardown_page_buffers(void)
{
	bench_free_chunks(huge_pages, count_buffer_chunks(), true);
	teardown_cold_buffer();
}

#define GROUP(label, id, begin, end, ...)				\
{									\
	.name = label,							\
	.variants = id##_variants,					\
	.nr_variants = ARRAY_SIZE(id##_variants),			\
	.setup = begin,							\
	.teardown = end,						\
	__VA_ARGS__							\
}

const struct bench_group bench_cold_branch =
	GROUP("cold-branch", serialised, setup_cold_buffer, teardown_cold_buffer);
const struct bench_group bench_cold_branch_overlapped =
	GROUP("cold-branch-overlapped", overlapped, setup_cold_buffer, teardown_cold_buffer);
const struct bench_group bench_cold_branch_pages =
	GROUP("cold-branch-pages", pages, setup_page_buffers, teardown_page_buffers,
	      .lacks = "no huge pages are free for the buffer, or the CPU is emulated");
