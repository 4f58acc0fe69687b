/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a variant of a benchmark is made of: the clock, loops that begin at a chosen place of a
 * cache line, and windows around them.  Included by <kmarkers/bench.h>, which is the manual.
 */
#ifndef KMARKERS_BENCH_WINDOW_H
#define KMARKERS_BENCH_WINDOW_H

#include <linux/compiler.h>
#include <linux/irqflags.h>
#include <linux/sched.h>
#include <linux/types.h>

#ifndef __KERNEL__
#include <linux/noinline.h>
#endif

/*
 * Most layouts that a variant has.  An instruction at the end of a line may cost a cycle that it
 * costs nowhere else, so a program, which is measured until rows are told apart, begins its loops
 * at every second byte of a line.  A module, which stays small, does at every eighth, and so does
 * what is built with BENCH_FEW_LAYOUTS: to compile 32 layouts takes long, and a build that looks
 * for faults is not timed.
 */
#if defined(__KERNEL__) || defined(BENCH_FEW_LAYOUTS)
#define BENCH_LAYOUTS		8
#else
#define BENCH_LAYOUTS		32
#endif

/* Let others run; called between windows. */
void bench_pause(void);

/*
 * Read the time stamp counter between two LFENCE, which wait for all instructions
 * before them and let none after them begin (Intel SDM vol. 2; on AMD if LFENCE is
 * dispatch serialising, as Linux configures it).
 */
static __always_inline u64 bench_tsc(void)
{
	u32 low, high;

	asm volatile("lfence\n\trdtsc\n\tlfence" : "=a" (low), "=d" (high) : : "memory");
	return low | (u64)high << 32;
}

/* How many bytes into a cache line a layout begins: those below 8 are a module's. */
#define __BENCH_OFFSET(layout)	"(8 * (" #layout " & 7) + 2 * (" #layout " >> 3))"

/**
 * BENCH_ALIGN() - let the code that follows begin at the place of a layout in a cache line
 * @layout: a number below BENCH_LAYOUTS
 */
#define BENCH_ALIGN(layout)						\
	asm volatile(".p2align 6\n\t.rept " __BENCH_OFFSET(layout) "\n\tnop\n\t.endr")

/**
 * BENCH_ALIGN_HEAD() - let the loop with BENCH_HEAD() begin at the place of a layout
 * @layout: a number below BENCH_LAYOUTS
 *
 * Between the two the compiler places what the loop needs, more of it for some variants than
 * for others.  8801f is the next head in the output, also where the compiler copies the loop.
 * If the compiler aligned the head too, GNU as would search for ever: the kernel's flags tell
 * it not to, and BENCH_NO_ALIGN does elsewhere.  Clang's assembler cannot compute the length;
 * with it the place is that of what precedes the loop.
 */
/**
 * BENCH_HEAD() - the first statement of the loop that BENCH_ALIGN_HEAD() places
 */
#ifdef __clang__
#define BENCH_ALIGN_HEAD(layout)	BENCH_ALIGN(layout)
#define BENCH_HEAD()			do { } while (0)
#else
#define BENCH_ALIGN_HEAD(layout)					\
	asm volatile(".p2align 6\n\t"					\
		     ".skip (" __BENCH_OFFSET(layout) " - (8801f - 8800f)) & 63, 0x90\n8800:")
#define BENCH_HEAD()	asm volatile("8801:")
#endif

#if defined(__KERNEL__) || defined(__clang__)
#define BENCH_NO_ALIGN
#else
#define BENCH_NO_ALIGN							\
	__attribute__((optimize("align-loops=1", "align-jumps=1", "align-labels=1")))
#endif

/**
 * BENCH_BEGIN() - disable interrupts while no other task is waiting to run
 * @irqs: variable for local_irq_restore()
 *
 * If a task were waiting, enabling preemption in the window would take an instruction or
 * two more.
 */
#define BENCH_BEGIN(irqs)						\
do {									\
	local_irq_save(irqs);						\
	if (likely(!need_resched()))					\
		break;							\
	local_irq_restore(irqs);					\
	bench_pause();							\
} while (1)

/**
 * BENCH_WINDOW() - a window around a loop of the statements
 * @layout: where in a cache line the loop begins
 */
#define BENCH_WINDOW(layout, ...)					\
do {									\
	start = bench_tsc();						\
	BENCH_ALIGN_HEAD(layout);					\
	for (i = 0; i < loops; i++) {					\
		BENCH_HEAD();						\
		{ __VA_ARGS__; }					\
		barrier();						\
	}								\
	end = bench_tsc();						\
} while (0)

/**
 * BENCH_OP() - a variant at one layout: a window in which interrupts are off
 * @id: the variant
 * @layout: the layout
 */
#define BENCH_OP(id, layout, ...)					\
static noinline BENCH_NO_ALIGN u64 id##_##layout(u32 loops)				\
{									\
	unsigned long irqs;						\
	u64 start, end;							\
	u32 i;								\
									\
	BENCH_BEGIN(irqs);						\
	BENCH_WINDOW(layout, __VA_ARGS__);				\
	local_irq_restore(irqs);					\
	return end - start;						\
}

/**
 * BENCH_OP_OPEN() - the same with interrupts on, for statements that may sleep
 * @id: the variant
 * @layout: the layout
 */
#define BENCH_OP_OPEN(id, layout, ...)					\
static noinline BENCH_NO_ALIGN u64 id##_##layout(u32 loops)				\
{									\
	u64 start, end;							\
	u32 i;								\
									\
	BENCH_WINDOW(layout, __VA_ARGS__);				\
	return end - start;						\
}

/**
 * BENCH_OP_EACH_AFTER() - a variant at one layout, with a window around each pass
 * @id: the variant
 * @layout: the layout
 * @unseen: so many passes come first whose time does not count
 * @prepare: done before each pass, and not timed
 *
 * The asm without code keeps the making of @start in front of the statements:
 * behind them it would be in the window, in some variants and not in others.
 */
#define BENCH_OP_EACH_AFTER(id, layout, unseen, prepare, ...)		\
static noinline BENCH_NO_ALIGN u64 id##_##layout(u32 loops)				\
{									\
	unsigned long irqs;						\
	u64 start, total = 0;						\
	u32 i;								\
									\
	for (i = 0; i < loops + (unseen); i++) {			\
		prepare;						\
		BENCH_BEGIN(irqs);					\
		BENCH_ALIGN(layout);					\
		start = bench_tsc();					\
		asm volatile("" : "+r" (start));			\
		{ __VA_ARGS__; }					\
		barrier();						\
		start = bench_tsc() - start;				\
		if (i + 1 > (unseen))					\
			total += start;					\
		local_irq_restore(irqs);				\
	}								\
	return total;							\
}

/**
 * BENCH_OP_EACH() - the same without unseen passes
 * @id: the variant
 * @layout: the layout
 * @prepare: done before each pass, and not timed
 */
#define BENCH_OP_EACH(id, layout, prepare, ...)				\
	BENCH_OP_EACH_AFTER(id, layout, 0, prepare, __VA_ARGS__)

#define __BENCH_FUNCTIONS_8(op, id, ...)					\
	op(id, 0, __VA_ARGS__)						\
	op(id, 1, __VA_ARGS__)						\
	op(id, 2, __VA_ARGS__)						\
	op(id, 3, __VA_ARGS__)						\
	op(id, 4, __VA_ARGS__)						\
	op(id, 5, __VA_ARGS__)						\
	op(id, 6, __VA_ARGS__)						\
	op(id, 7, __VA_ARGS__)

#define __BENCH_FUNCTIONS_32(op, id, ...)					\
	__BENCH_FUNCTIONS_8(op, id, __VA_ARGS__)				\
	op(id, 8, __VA_ARGS__)						\
	op(id, 9, __VA_ARGS__)						\
	op(id, 10, __VA_ARGS__)						\
	op(id, 11, __VA_ARGS__)						\
	op(id, 12, __VA_ARGS__)						\
	op(id, 13, __VA_ARGS__)						\
	op(id, 14, __VA_ARGS__)						\
	op(id, 15, __VA_ARGS__)						\
	op(id, 16, __VA_ARGS__)						\
	op(id, 17, __VA_ARGS__)						\
	op(id, 18, __VA_ARGS__)						\
	op(id, 19, __VA_ARGS__)						\
	op(id, 20, __VA_ARGS__)						\
	op(id, 21, __VA_ARGS__)						\
	op(id, 22, __VA_ARGS__)						\
	op(id, 23, __VA_ARGS__)						\
	op(id, 24, __VA_ARGS__)						\
	op(id, 25, __VA_ARGS__)						\
	op(id, 26, __VA_ARGS__)						\
	op(id, 27, __VA_ARGS__)						\
	op(id, 28, __VA_ARGS__)						\
	op(id, 29, __VA_ARGS__)						\
	op(id, 30, __VA_ARGS__)						\
	op(id, 31, __VA_ARGS__)

#define __BENCH_NAMES_8(id)						\
	id##_0, id##_1, id##_2, id##_3, id##_4, id##_5, id##_6, id##_7

#define __BENCH_NAMES_32(id)						\
	__BENCH_NAMES_8(id),						\
	id##_8, id##_9, id##_10, id##_11, id##_12, id##_13, id##_14, id##_15, \
	id##_16, id##_17, id##_18, id##_19, id##_20, id##_21, id##_22, id##_23, \
	id##_24, id##_25, id##_26, id##_27, id##_28, id##_29, id##_30, id##_31

/**
 * BENCH_AT_LAYOUTS() - the functions of a variant, id_0 and so on, and the array of them
 * @nr: how many layouts: 8 or 32
 * @op: BENCH_OP(), BENCH_OP_OPEN(), BENCH_OP_EACH() or BENCH_OP_EACH_AFTER()
 * @id: the variant; what @op takes follows
 */
#define BENCH_AT_LAYOUTS(nr, op, id, ...)				\
	static bench_op __BENCH_NAMES_##nr(id);				\
	static bench_op *const id##_layouts[] = { __BENCH_NAMES_##nr(id) }; \
	__BENCH_FUNCTIONS_##nr(op, id, __VA_ARGS__)

/**
 * BENCH_AT_EACH_LAYOUT() - the same at all BENCH_LAYOUTS
 */
#if BENCH_LAYOUTS == 8
#define BENCH_AT_EACH_LAYOUT(...)	BENCH_AT_LAYOUTS(8, __VA_ARGS__)
#else
#define BENCH_AT_EACH_LAYOUT(...)	BENCH_AT_LAYOUTS(32, __VA_ARGS__)
#endif

/**
 * BENCH_OPS() - a variant at every layout, with interrupts off
 * @id: the variant, for BENCH_ROW(); the statements follow
 */
#define BENCH_OPS(id, ...)	BENCH_AT_EACH_LAYOUT(BENCH_OP, id, __VA_ARGS__)

/**
 * BENCH_OPS_OPEN() - a variant at every layout, with interrupts on
 * @id: the variant, for BENCH_ROW(); the statements follow
 */
#define BENCH_OPS_OPEN(id, ...)	BENCH_AT_EACH_LAYOUT(BENCH_OP_OPEN, id, __VA_ARGS__)

/**
 * BENCH_OPS_EACH() - a variant at 8 layouts, with a window around each pass
 * @id: the variant, for BENCH_ROW(); the statements follow
 * @prepare: done before each pass, and not timed
 */
#define BENCH_OPS_EACH(id, prepare, ...)				\
	BENCH_AT_LAYOUTS(8, BENCH_OP_EACH, id, prepare, __VA_ARGS__)

/**
 * BENCH_OPS_EACH_AFTER() - the same, with passes before each window's first that are not timed
 * @id: the variant, for BENCH_ROW(); the statements follow
 * @unseen: how many passes
 * @prepare: done before each pass, and not timed
 *
 * The first pass of a window is costlier than the others where it finds the predictors of
 * branches as other variants left them.  A slope does not show that, but in which of its
 * three windows a variant runs first is random, and so the slopes would be spread.
 */
#define BENCH_OPS_EACH_AFTER(id, unseen, prepare, ...)			\
	BENCH_AT_LAYOUTS(8, BENCH_OP_EACH_AFTER, id, unseen, prepare, __VA_ARGS__)

#endif /* KMARKERS_BENCH_WINDOW_H */
