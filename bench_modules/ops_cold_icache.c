// SPDX-License-Identifier: GPL-2.0-only
/*
 * cold-icache-*: the cost of 64 dormant markers in code that is executed once per window, with the
 * code in the L1 instruction cache (l1), in L2 (l2), beyond L2 (l3) or in memory.  In cold code,
 * the cost of a marker is the time to load the cache lines that its instructions occupy.
 *
 * CLFLUSH evicts the code from all caches.  For l2 and l3, the code is then read as data.  For l3,
 * a random walk through a buffer that is larger than L2 then evicts L2.  The walk also evicts the
 * state variables that generic (unpatched) markers load.  Other data and the TLB stay warm.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/vmalloc.h>

#include <kmarkers/hypervisor.h>
#include <kmarkers/marker.h>

#include "caches.h"
#include "ops.h"
#include "repeat.h"
#include "thresholds.h"
#include "walk.h"

#define LINE		64
/*
 * Number of bytes that are flushed and read.  It is the same for all variants, and larger than the
 * code of any variant.  The bytes behind a variant belong to the next variants, or to benchmarks
 * that are linked after this file.
 */
#define CODE_BYTES	(16 << 10)
/*
 * The size of the buffer is TIMES times the size of L2, rounded up to a power of two.  The walk has
 * TIMES steps for each line of L2, and leaves about 2 % of the old contents in L2.
 */
#define TIMES		4
#define LARGEST_ORDER	26

static enum { IN_L1, IN_L2, IN_L3, IN_MEMORY } cache_level;
static u8 *walk_buffer;
static unsigned int walk_order;
static u64 walk_state = 1;

static void flush_code_from_caches(const u8 *code)
{
	unsigned int i;

	asm volatile("mfence" : : : "memory");
	for (i = 0; i < CODE_BYTES; i += LINE)
		asm volatile("clflush %0" : : "m" (code[i]));
	asm volatile("mfence" : : : "memory");
}

static void load_code_as_data(const u8 *code)
{
	unsigned int i;

	for (i = 0; i < CODE_BYTES; i += LINE)
		(void)READ_ONCE(code[i]);
}

/*
 * Evict the CODE_BYTES at @code, so that they are in the cache level that the running benchmark
 * measures, and in no level nearer to the core.  For the level 1 cache, do nothing.
 */
static noinline void evict_code_to_cache_level(const u8 *code)
{
	if (cache_level == IN_L1)
		return;
	flush_code_from_caches(code);
	if (cache_level != IN_MEMORY)
		load_code_as_data(code);
	if (cache_level == IN_L3)
		evict_caches_by_walk(walk_buffer, walk_order, TIMES << (walk_order - 8),
				     &walk_state);
}

/* Call evict_code_to_cache_level() with the address of the code that follows. */
#define PREPARE()							\
do {									\
	const u8 *code;							\
									\
	asm volatile("lea 0(%%rip), %0" : "=r" (code));			\
	evict_code_to_cache_level(code);					\
} while (0)

/*
 * The code between two markers: 12 instructions, and a jump over unused bytes, like the branches
 * that skip rare cases in programs.
 */
#define PIECE()								\
	asm volatile(".rept 2\n\t"					\
		     "add %%ecx, %%ecx\n\t"				\
		     "add %%edx, %%edx\n\t"				\
		     "mov (%%rsp), %%esi\n\t"				\
		     "add %%r8d, %%r8d\n\t"				\
		     "add %%r9d, %%r9d\n\t"				\
		     "mov (%%rsp), %%edi\n\t"				\
		     ".endr\n\t"					\
		     "jmp 1f\n\t"					\
		     ".skip 64, 0xcc\n"					\
		     "1:"						\
		     : : : "ecx", "edx", "esi", "edi", "r8", "r9", "cc")

#define MARK_OF(flavour)						\
	trace_mark_flavour(flavour, bench_cold_icache, NULL, "%d %p", 1, NULL)

#define COLD_OPS(id, ...)						\
BENCH_OPS_EACH_AFTER(id, 1, PREPARE(), REPEAT_64(__VA_ARGS__; PIECE()))

COLD_OPS(cold_none, (void)0)
COLD_OPS(cold_clone, (void)0)
COLD_OPS(cold_generic, MARK_OF(generic))
COLD_OPS(cold_immediate, MARK_OF(immediate))
COLD_OPS(cold_jump, MARK_OF(jump))
COLD_OPS(cold_cmp_flip, MARK_OF(cmp_flip))
COLD_OPS(cold_xor_flip, MARK_OF(xor_flip))
COLD_OPS(cold_imv_compare, IMV_COMPARE_TEST())
COLD_OPS(cold_variable_compare, VARIABLE_COMPARE_TEST())

static const struct bench_variant cold_variants[] = {
	BENCH_ROW("none", cold_none),
	BENCH_ROW("none-clone", cold_clone),
	BENCH_ROW("marker-generic-64", cold_generic),
	BENCH_ROW("marker-immediate-64", cold_immediate),
	BENCH_ROW("marker-jump-64", cold_jump),
	BENCH_ROW("marker-cmp-flip-64", cold_cmp_flip),
	BENCH_ROW("marker-xor-flip-64", cold_xor_flip),
	BENCH_ROW("imv-compare-64", cold_imv_compare),
	BENCH_ROW("variable-compare-64", cold_variable_compare),
};

static int setup_icache_l1(void)
{
	cache_level = IN_L1;
	return 0;
}

/*
 * Set the cache level for evict_code_to_cache_level().  Return -ENODEV under an emulator, which has
 * no caches.
 */
static int select_cache_level(int level)
{
	if (kmarkers_is_emulated())
		return -ENODEV;
	cache_level = level;
	return 0;
}

static int setup_icache_l2(void)
{
	return select_cache_level(IN_L2);
}

static int setup_icache_l3(void)
{
	struct bench_caches caches;

	if (select_cache_level(IN_L3))
		return -ENODEV;
	bench_read_caches(&caches);
	walk_order = bench_round_up_log2(TIMES * caches.middle);
	if (walk_order > LARGEST_ORDER)
		walk_order = LARGEST_ORDER;
	walk_buffer = vmalloc(1UL << walk_order);
	if (!walk_buffer)
		return -ENOMEM;
	memset(walk_buffer, 1, 1UL << walk_order);
	return 0;
}

static void teardown_icache_l3(void)
{
	vfree(walk_buffer);
}

static int setup_icache_memory(void)
{
	return select_cache_level(IN_MEMORY);
}

#define GROUP(label, where, ...)					\
{									\
	.name = label,							\
	.variants = cold_variants,					\
	.nr_variants = ARRAY_SIZE(cold_variants),			\
	.setup = where,							\
	.lacks = "the CPU is emulated and has no caches",		\
	__VA_ARGS__							\
}

/*
 * cold-icache-l1 evicts no code, so its loop counts are chosen at run time.  The other groups have
 * fixed loop counts, because bench_find_loop_counts() would also count the time of the evictions.
 * cold-icache-l3 has the fewest iterations and blocks, because each eviction takes a millisecond.
 */
const struct bench_group bench_cold_icache_l1 = GROUP("cold-icache-l1", setup_icache_l1);
const struct bench_group bench_cold_icache_l2 =
	GROUP("cold-icache-l2", setup_icache_l2, .loops = { 4, 8, 20 });
const struct bench_group bench_cold_icache_l3 =
	GROUP("cold-icache-l3", setup_icache_l3, .teardown = teardown_icache_l3, .most_blocks = 60,
	      .loops = { 2, 4, 8 });
const struct bench_group bench_cold_icache_memory =
	GROUP("cold-icache-memory", setup_icache_memory, .loops = { 2, 4, 10 });
