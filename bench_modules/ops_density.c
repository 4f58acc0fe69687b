// SPDX-License-Identifier: GPL-2.0-only
/*
 * density-*: the cost of 1, 4 and 16 dormant markers in each iteration of a loop.  A wide core
 * executes a single marker in issue slots that would be idle anyway.  So the cost of a marker is
 * the time that each further marker adds to an iteration: the slope of a line that is fitted to the
 * times of iterations with 0, 1, 4 and 16 markers.  In the variants imv-compare and
 * variable-compare, comparisons with a threshold replace the markers.
 *
 * The cost also depends on the neighbouring instructions: some cores fuse a nop with the
 * instruction before it, and then the nop needs no issue slot.  Therefore three benchmarks place
 * the markers differently in a loop whose other instructions use every issue slot:
 * - density-spread: the markers are spread among the instructions, as in real programs, and the
 *   loop does not begin with a marker;
 * - density-full: the markers are adjacent at the head of the loop, after its taken branch;
 * - density-one: there is a single marker, at the head of the loop, in the middle, or after a call.
 * The loop of density-empty contains only adjacent markers.
 */
#include <linux/kernel.h>

#include <kmarkers/marker.h>

#include "ops.h"
#include "repeat.h"
#include "thresholds.h"

/*
 * FULL() is 54 instructions that use every issue slot.  Two adds for each load suit the execution
 * units of cores with four to eight slots.  An add depends on none of the five adds before it.  The
 * instructions use no register that a marker needs.  Markers are inserted between groups of three
 * instructions (T1, T2, T3).  RUN() executes adjacent groups.
 */
#define T1		"add %%ecx, %%ecx\n\tadd %%edx, %%edx\n\tmov (%%rsp), %%esi\n\t"
#define T2		"add %%r8d, %%r8d\n\tadd %%r9d, %%r9d\n\tmov (%%rsp), %%edi\n\t"
#define T3		"add %%r10d, %%r10d\n\tadd %%r11d, %%r11d\n\tmov (%%rsp), %%esi\n\t"
#define NINE		T1 T2 T3
#define RUN(code)							\
	asm volatile(code : : : "ecx", "edx", "esi", "edi", "r8", "r9", "r10", "r11", "cc")
#define FULL()		RUN(NINE NINE NINE NINE NINE NINE)

#define EMPTY()		(void)0
#define NO_MARK()	(void)0
/*
 * The macros below take the name of a marker macro, such as JUMP, because the marker itself
 * contains commas, which would separate arguments.
 */
#define MARK_OF(flavour)						\
	trace_mark_flavour(flavour, bench_density, NULL, "%d %p", 1, NULL)
#define GENERIC()	MARK_OF(generic)
#define IMMEDIATE()	MARK_OF(immediate)
#define JUMP()		MARK_OF(jump)
#define CMP_FLIP()	MARK_OF(cmp_flip)
#define XOR_FLIP()	MARK_OF(xor_flip)

/*
 * Define three variants: 1, 4 or 16 adjacent markers m(), all of one flavour, precede the code of
 * body().
 */
#define TOGETHER(id, body, m)						\
BENCH_OPS(id##_1, m(); body())						\
BENCH_OPS(id##_4, REPEAT_4(m()); body())				\
BENCH_OPS(id##_16, REPEAT_16(m()); body())

/*
 * Define three variants, with markers m(), all of one flavour, among the 54 instructions of FULL():
 * 1 marker in the middle; 4 markers, after 12, 24, 36 and 48 instructions; 16 markers, after 3, 6,
 * 9, ... 48 instructions.
 */
#define SPREAD(id, body, m)						\
BENCH_OPS(id##_1, RUN(NINE NINE NINE); m(); RUN(NINE NINE NINE))	\
BENCH_OPS(id##_4,							\
	  RUN(NINE T1); m(); RUN(T2 T3 T1 T2); m(); RUN(T3 NINE); m();	\
	  RUN(NINE T1); m(); RUN(T2 T3))				\
BENCH_OPS(id##_16,							\
	  RUN(T1); m(); RUN(T2); m(); RUN(T3); m(); RUN(T1); m();	\
	  RUN(T2); m(); RUN(T3); m(); RUN(T1); m(); RUN(T2); m();	\
	  RUN(T3); m(); RUN(T1); m(); RUN(T2); m(); RUN(T3); m();	\
	  RUN(T1); m(); RUN(T2); m(); RUN(T3); m(); RUN(T1); m();	\
	  RUN(T2 T3))

#define DENSITY_ROWS(label, id)						\
	BENCH_ROW(label "-1", id##_1),					\
	BENCH_ROW(label "-4", id##_4),					\
	BENCH_ROW(label "-16", id##_16)

#define VARIANTS(id, arrange, body)					\
BENCH_OPS(id##_base, body())						\
BENCH_OPS(id##_base_clone, body())					\
arrange(id##_none, body, NO_MARK)					\
arrange(id##_generic, body, GENERIC)					\
arrange(id##_immediate, body, IMMEDIATE)				\
arrange(id##_jump, body, JUMP)						\
arrange(id##_cmp_flip, body, CMP_FLIP)					\
arrange(id##_xor_flip, body, XOR_FLIP)					\
arrange(id##_imv_compare, body, IMV_COMPARE_TEST)			\
arrange(id##_variable_compare, body, VARIABLE_COMPARE_TEST)		\
									\
static const struct bench_variant id##_variants[] = {			\
	BENCH_ROW("none", id##_base),					\
	BENCH_ROW("none-clone", id##_base_clone),			\
	DENSITY_ROWS("none", id##_none),				\
	DENSITY_ROWS("marker-generic", id##_generic),			\
	DENSITY_ROWS("marker-immediate", id##_immediate),		\
	DENSITY_ROWS("marker-jump", id##_jump),				\
	DENSITY_ROWS("marker-cmp-flip", id##_cmp_flip),			\
	DENSITY_ROWS("marker-xor-flip", id##_xor_flip),			\
	DENSITY_ROWS("imv-compare", id##_imv_compare),			\
	DENSITY_ROWS("variable-compare", id##_variable_compare),	\
}

VARIANTS(empty, TOGETHER, EMPTY);
VARIANTS(full, TOGETHER, FULL);
VARIANTS(spread, SPREAD, FULL);

const struct bench_group bench_density_empty = {
	.name = "density-empty",
	.variants = empty_variants,
	.nr_variants = ARRAY_SIZE(empty_variants),
};

const struct bench_group bench_density_full = {
	.name = "density-full",
	.variants = full_variants,
	.nr_variants = ARRAY_SIZE(full_variants),
};

const struct bench_group bench_density_spread = {
	.name = "density-spread",
	.variants = spread_variants,
	.nr_variants = ARRAY_SIZE(spread_variants),
};

/* An empty function, called by all variants of density-one. */
static noinline void empty_function(void)
{
	barrier();
}

/*
 * The 54 instructions of FULL() with a call in the middle.  A marker can be inserted at the head,
 * after the call, or among the instructions after the call.
 */
#define CALLING(first, middle, after)					\
	first(); RUN(NINE NINE NINE); empty_function(); after();	\
	RUN(NINE T1 T2); middle(); RUN(T3 NINE)

#define PLACES(id, m)							\
BENCH_OPS(id##_first, CALLING(m, NO_MARK, NO_MARK))			\
BENCH_OPS(id##_middle, CALLING(NO_MARK, m, NO_MARK))			\
BENCH_OPS(id##_after_call, CALLING(NO_MARK, NO_MARK, m))

#define PLACE_ROWS(label, id)						\
	BENCH_ROW(label "-first", id##_first),				\
	BENCH_ROW(label "-middle", id##_middle),			\
	BENCH_ROW(label "-after-call", id##_after_call)

BENCH_OPS(one_base, CALLING(NO_MARK, NO_MARK, NO_MARK))
BENCH_OPS(one_base_clone, CALLING(NO_MARK, NO_MARK, NO_MARK))
PLACES(one_generic, GENERIC)
PLACES(one_immediate, IMMEDIATE)
PLACES(one_jump, JUMP)
PLACES(one_cmp_flip, CMP_FLIP)
PLACES(one_xor_flip, XOR_FLIP)

static const struct bench_variant one_variants[] = {
	BENCH_ROW("none", one_base),
	BENCH_ROW("none-clone", one_base_clone),
	PLACE_ROWS("marker-generic", one_generic),
	PLACE_ROWS("marker-immediate", one_immediate),
	PLACE_ROWS("marker-jump", one_jump),
	PLACE_ROWS("marker-cmp-flip", one_cmp_flip),
	PLACE_ROWS("marker-xor-flip", one_xor_flip),
};

const struct bench_group bench_density_one = {
	.name = "density-one",
	.variants = one_variants,
	.nr_variants = ARRAY_SIZE(one_variants),
};
