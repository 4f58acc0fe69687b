// SPDX-License-Identifier: GPL-2.0-only
/*
 * density-empty and density-full: 1, 4 and 16 dormant markers in each pass of a loop.  A
 * wide core executes a single marker in slots that are idle anyway.  The cost of a
 * marker is therefore the slope of a pass over the number of markers in it, and one of
 * the two loops leaves no slot idle.
 */
#include <linux/kernel.h>

#include <kmarkers/marker.h>

#include "ops.h"
#include "repeat.h"

/*
 * 54 instructions that use every issue slot: two additions for each load, which is what
 * cores of four to eight slots have units for.  An addition depends on none of the 5
 * before it, and no register is used that a marker needs.
 */
#define FULL()								\
	asm volatile(".rept 3\n\t"					\
		     ".rept 2\n\t"					\
		     "add %%ecx, %%ecx\n\t"				\
		     "add %%edx, %%edx\n\t"				\
		     "mov (%%rsp), %%esi\n\t"				\
		     "add %%r8d, %%r8d\n\t"				\
		     "add %%r9d, %%r9d\n\t"				\
		     "mov (%%rsp), %%edi\n\t"				\
		     "add %%r10d, %%r10d\n\t"				\
		     "add %%r11d, %%r11d\n\t"				\
		     "mov (%%rsp), %%esi\n\t"				\
		     ".endr\n\t"					\
		     ".endr"						\
		     : : : "ecx", "edx", "esi", "edi", "r8", "r9", "r10", "r11", "cc")

#define EMPTY()		(void)0
#define NO_MARK()	(void)0
#define MARK_OF(flavour)						\
	trace_mark_flavour(flavour, bench_density, NULL, "%d %p", 1, NULL)

/* The variants of one flavour: three numbers of markers, and the rest of the loop. */
#define DENSITIES(id, body, ...)					\
BENCH_OPS(id##_1, __VA_ARGS__; body)					\
BENCH_OPS(id##_4, REPEAT_4(__VA_ARGS__); body)				\
BENCH_OPS(id##_16, REPEAT_16(__VA_ARGS__); body)

#define DENSITY_ROWS(label, id)						\
	BENCH_ROW(label "-1", id##_1),					\
	BENCH_ROW(label "-4", id##_4),					\
	BENCH_ROW(label "-16", id##_16)

#define VARIANTS(id, body)						\
BENCH_OPS(id##_base, body)						\
BENCH_OPS(id##_base_clone, body)					\
DENSITIES(id##_none, body, NO_MARK())					\
DENSITIES(id##_generic, body, MARK_OF(generic))				\
DENSITIES(id##_immediate, body, MARK_OF(immediate))			\
DENSITIES(id##_jump, body, MARK_OF(jump))				\
DENSITIES(id##_cmp_flip, body, MARK_OF(cmp_flip))			\
DENSITIES(id##_xor_flip, body, MARK_OF(xor_flip))			\
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
}

VARIANTS(empty, EMPTY());
VARIANTS(full, FULL());

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
