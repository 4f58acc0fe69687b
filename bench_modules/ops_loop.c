// SPDX-License-Identifier: GPL-2.0-only
/*
 * empty-loop and memcpy-4096: the cost that a dormant marker, a nop or a jump adds to an empty
 * loop and to a loop that copies 4096 bytes, as measured for Markers 0.20 in 2006.  nop-encodings:
 * the cost that a nop or a jump adds to a loop that reads memory and does arithmetic, as measured
 * for ftrace in 2008.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include <kmarkers/marker.h>

#include "nops.h"
#include "ops.h"

#define EMPTY_MARK(flavour)						\
	trace_mark_flavour(flavour, bench_empty_loop, NULL, "%d %p", 1, NULL)

BENCH_OPS(empty_none, (void)0)
BENCH_OPS(empty_clone, (void)0)
BENCH_OPS(empty_generic, EMPTY_MARK(generic))
BENCH_OPS(empty_immediate, EMPTY_MARK(immediate))
BENCH_OPS(empty_jump, EMPTY_MARK(jump))
BENCH_OPS(empty_cmp_flip, EMPTY_MARK(cmp_flip))
BENCH_OPS(empty_xor_flip, EMPTY_MARK(xor_flip))

#define EMPTY_NOP_OPS(id, label, code, clobber)				\
	BENCH_OPS(empty_##id, asm volatile(code : : : clobber))
#define EMPTY_NOP_ROW(id, label, code, clobber)	BENCH_ROW(label, empty_##id),
NOPS(EMPTY_NOP_OPS)

static const struct bench_variant empty_variants[] = {
	BENCH_ROW("none", empty_none),
	BENCH_ROW("none-clone", empty_clone),
	BENCH_ROW("marker-generic", empty_generic),
	BENCH_ROW("marker-immediate", empty_immediate),
	BENCH_ROW("marker-jump", empty_jump),
	BENCH_ROW("marker-cmp-flip", empty_cmp_flip),
	BENCH_ROW("marker-xor-flip", empty_xor_flip),
	NOPS(EMPTY_NOP_ROW)
};

const struct bench_group bench_empty_loop = {
	.name = "empty-loop",
	.variants = empty_variants,
	.nr_variants = ARRAY_SIZE(empty_variants),
};

static u8 copy_from[4096] __aligned(4096), copy_to[4096] __aligned(4096);

/* The copy is an input of the asm statement, so that the compiler does not omit memcpy(). */
#define COPY()								\
do {									\
	memcpy(copy_to, copy_from, sizeof(copy_to));			\
	asm volatile("" : : "r" (copy_to) : "memory");			\
} while (0)

#define MARKED_COPY(flavour)						\
	trace_mark_flavour(flavour, bench_memcpy, NULL, "%d %p", 1, NULL); \
	COPY()

BENCH_OPS(memcpy_none, COPY())
BENCH_OPS(memcpy_clone, COPY())
BENCH_OPS(memcpy_generic, MARKED_COPY(generic))
BENCH_OPS(memcpy_immediate, MARKED_COPY(immediate))
BENCH_OPS(memcpy_jump, MARKED_COPY(jump))
BENCH_OPS(memcpy_cmp_flip, MARKED_COPY(cmp_flip))
BENCH_OPS(memcpy_xor_flip, MARKED_COPY(xor_flip))

#define MEMCPY_NOP_OPS(id, label, code, clobber)			\
	BENCH_OPS(memcpy_##id, asm volatile(code : : : clobber); COPY())
#define MEMCPY_NOP_ROW(id, label, code, clobber)	BENCH_ROW(label, memcpy_##id),
NOPS(MEMCPY_NOP_OPS)

static const struct bench_variant memcpy_variants[] = {
	BENCH_ROW("none", memcpy_none),
	BENCH_ROW("none-clone", memcpy_clone),
	BENCH_ROW("marker-generic", memcpy_generic),
	BENCH_ROW("marker-immediate", memcpy_immediate),
	BENCH_ROW("marker-jump", memcpy_jump),
	BENCH_ROW("marker-cmp-flip", memcpy_cmp_flip),
	BENCH_ROW("marker-xor-flip", memcpy_xor_flip),
	NOPS(MEMCPY_NOP_ROW)
};

const struct bench_group bench_memcpy_4096 = {
	.name = "memcpy-4096",
	.variants = memcpy_variants,
	.nr_variants = ARRAY_SIZE(memcpy_variants),
};

/* Each WORK() loads the result of the previous WORK(): the iterations form a dependency chain. */
static u32 numbers[2];

#define WORK()								\
	WRITE_ONCE(numbers[1], READ_ONCE(numbers[1]) * 3 + READ_ONCE(numbers[0]))

BENCH_OPS(work_empty, WORK())
BENCH_OPS(work_clone, WORK())

#define WORK_NOP_OPS(id, label, code, clobber)				\
	BENCH_OPS(work_##id, asm volatile(code : : : clobber); WORK())
#define WORK_NOP_ROW(id, label, code, clobber)	BENCH_ROW(label, work_##id),
NOPS(WORK_NOP_OPS)

static const struct bench_variant work_variants[] = {
	BENCH_ROW("empty", work_empty),
	BENCH_ROW("empty-clone", work_clone),
	NOPS(WORK_NOP_ROW)
};

const struct bench_group bench_nop_encodings = {
	.name = "nop-encodings",
	.variants = work_variants,
	.nr_variants = ARRAY_SIZE(work_variants),
};
