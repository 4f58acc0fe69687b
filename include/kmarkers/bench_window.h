/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Building blocks of benchmark variants: the clock, loops that begin at a chosen offset in a cache
 * line, and timed windows around them. <kmarkers/bench.h> includes this header, and is the manual.
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
 * Maximum number of layouts of a variant.  A layout is the offset of a loop in a cache line of 64
 * bytes: an instruction at the end of a line may cost an additional cycle.  A program has a layout
 * at every second byte; a module has a layout at every eighth byte, to stay small.  Code that is
 * compiled only to be checked, for instance by a sanitizer, defines BENCH_UNTIMED: then all 8
 * layouts of a variant are one function, because a function for each layout takes long to compile.
 */
#if defined(__KERNEL__) || defined(BENCH_UNTIMED)
#define BENCH_LAYOUTS		8
#else
#define BENCH_LAYOUTS		32
#endif

/* Let other tasks run; called between timed windows. */
void bench_let_tasks_run(void);

/*
 * Read the time stamp counter between two LFENCE instructions.  LFENCE waits for all instructions
 * before it, and no instruction after it begins earlier (Intel SDM vol. 2).  On AMD, LFENCE does
 * so because Linux configures it as dispatch serialising.
 */
static __always_inline u64 bench_read_tsc(void)
{
	u32 low, high;

	asm volatile("lfence\n\trdtsc\n\tlfence" : "=a" (low), "=d" (high) : : "memory");
	return low | (u64)high << 32;
}

/* Offset in a cache line at which a layout begins, in bytes.  Modules use only layouts below 8. */
#define __BENCH_OFFSET(layout)	"(8 * (" #layout " & 7) + 2 * (" #layout " >> 3))"

/**
 * BENCH_ALIGN() - place the following code at the cache line offset of a layout
 * @layout: a number below BENCH_LAYOUTS
 */
#define BENCH_ALIGN(layout)						\
	asm volatile(".p2align 6\n\t.rept " __BENCH_OFFSET(layout) "\n\tnop\n\t.endr")

#ifdef __clang__
#define __BENCH_ALIGN_HEAD(layout)	BENCH_ALIGN(layout)
#define __BENCH_HEAD()			do { } while (0)
#else
#define __BENCH_ALIGN_HEAD(layout)					\
	asm volatile(".p2align 6\n\t"					\
		     ".skip (" __BENCH_OFFSET(layout) " - (8801f - 8800f)) & 63, 0x90\n8800:")
#define __BENCH_HEAD()	asm volatile("8801:")
#endif

/**
 * BENCH_ALIGN_HEAD() - pad with nops so that the next BENCH_HEAD() is at a layout's offset
 * @layout: a number below BENCH_LAYOUTS
 *
 * Place this macro before the loop, and BENCH_HEAD() in the loop.  Between the two macros the
 * compiler emits code that prepares the loop.  The length of this code depends on the variant.  The
 * assembler computes this length from the labels 8800 and 8801, and shortens the padding by this
 * length.  If the compiler copies the loop, 8801f is the next label 8801, which is the head of the
 * same copy.
 *
 * The compiler must not align the head itself, because GNU as would then not terminate.  The
 * kernel's compiler flags prevent this alignment; in user space BENCH_NO_ALIGN does.  Clang's
 * assembler cannot compute the length: with clang, the code before the loop is at the offset.
 */
#define BENCH_ALIGN_HEAD(layout)	__BENCH_ALIGN_HEAD(layout)

/**
 * BENCH_HEAD() - the first statement of the loop that BENCH_ALIGN_HEAD() places
 */
#define BENCH_HEAD()	__BENCH_HEAD()

#if defined(__KERNEL__) || defined(__clang__)
#define BENCH_NO_ALIGN
#else
#define BENCH_NO_ALIGN							\
	__attribute__((optimize("align-loops=1", "align-jumps=1", "align-labels=1")))
#endif

/**
 * BENCH_BEGIN() - disable interrupts at a moment when no other task is waiting to run
 * @irqs: variable for local_irq_restore()
 *
 * While a task is waiting, each preempt_enable() in the window executes one or two additional
 * instructions.
 */
#define BENCH_BEGIN(irqs)						\
do {									\
	local_irq_save(irqs);						\
	if (likely(!need_resched()))					\
		break;							\
	local_irq_restore(irqs);					\
	bench_let_tasks_run();						\
} while (1)

/**
 * BENCH_WINDOW() - run statements in a loop; set start and end to the TSC before and after the loop
 * @layout: the layout, which determines the offset of the loop in a cache line
 */
#define BENCH_WINDOW(layout, ...)					\
do {									\
	start = bench_read_tsc();						\
	BENCH_ALIGN_HEAD(layout);					\
	for (i = 0; i < loops; i++) {					\
		BENCH_HEAD();						\
		{ __VA_ARGS__; }					\
		barrier();						\
	}								\
	end = bench_read_tsc();						\
} while (0)

/**
 * BENCH_OP() - define a variant at one layout, with interrupts off in the timed window
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
 * BENCH_OP_OPEN() - define a variant at one layout, with interrupts on: its statements may sleep
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
 * BENCH_OP_EACH_AFTER() - define a variant at one layout, with a window around each iteration
 * @id: the variant
 * @layout: the layout
 * @unseen: number of untimed iterations before the first timed one
 * @prepare: statement that is executed before each iteration, and not timed
 *
 * The empty asm makes the compiler compute @start before the timed statements.  Without the asm,
 * the compiler computes @start after the timed statements in some variants, which adds to the
 * measured time.
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
		start = bench_read_tsc();					\
		asm volatile("" : "+r" (start));			\
		{ __VA_ARGS__; }					\
		barrier();						\
		start = bench_read_tsc() - start;				\
		if (i + 1 > (unseen))					\
			total += start;					\
		local_irq_restore(irqs);				\
	}								\
	return total;							\
}

/**
 * BENCH_OP_EACH() - define a variant like BENCH_OP_EACH_AFTER(), without untimed iterations
 * @id: the variant
 * @layout: the layout
 * @prepare: statement that is executed before each iteration, and not timed
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

#ifdef BENCH_UNTIMED
#define BENCH_AT_LAYOUTS(nr, op, id, ...)				\
	static bench_op id##_0;						\
	static bench_op *const id##_layouts[] = { [0 ... (nr) - 1] = id##_0 }; \
	op(id, 0, __VA_ARGS__)
#else
/**
 * BENCH_AT_LAYOUTS() - define the functions of a variant, id_0 and so on, and their array
 * @nr: number of layouts: 8 or 32
 * @op: BENCH_OP(), BENCH_OP_OPEN(), BENCH_OP_EACH() or BENCH_OP_EACH_AFTER()
 * @id: the variant; the other arguments of @op follow
 */
#define BENCH_AT_LAYOUTS(nr, op, id, ...)				\
	static bench_op __BENCH_NAMES_##nr(id);				\
	static bench_op *const id##_layouts[] = { __BENCH_NAMES_##nr(id) }; \
	__BENCH_FUNCTIONS_##nr(op, id, __VA_ARGS__)
#endif

/**
 * BENCH_AT_EACH_LAYOUT() - define a variant like BENCH_AT_LAYOUTS(), at BENCH_LAYOUTS layouts
 */
#if BENCH_LAYOUTS == 8
#define BENCH_AT_EACH_LAYOUT(...)	BENCH_AT_LAYOUTS(8, __VA_ARGS__)
#else
#define BENCH_AT_EACH_LAYOUT(...)	BENCH_AT_LAYOUTS(32, __VA_ARGS__)
#endif

/**
 * BENCH_OPS() - define a variant at every layout, with interrupts off
 * @id: the variant, for BENCH_ROW(); the last arguments are the measured statements
 */
#define BENCH_OPS(id, ...)	BENCH_AT_EACH_LAYOUT(BENCH_OP, id, __VA_ARGS__)

/**
 * BENCH_OPS_OPEN() - define a variant at every layout, with interrupts on
 * @id: the variant, for BENCH_ROW(); the last arguments are the measured statements
 */
#define BENCH_OPS_OPEN(id, ...)	BENCH_AT_EACH_LAYOUT(BENCH_OP_OPEN, id, __VA_ARGS__)

/**
 * BENCH_OPS_EACH() - define a variant at 8 layouts, with a window around each iteration
 * @id: the variant, for BENCH_ROW(); the last arguments are the measured statements
 * @prepare: statement that is executed before each iteration, and not timed
 */
#define BENCH_OPS_EACH(id, prepare, ...)				\
	BENCH_AT_LAYOUTS(8, BENCH_OP_EACH, id, prepare, __VA_ARGS__)

/**
 * BENCH_OPS_EACH_AFTER() - define a variant like BENCH_OPS_EACH(), after untimed iterations
 * @id: the variant, for BENCH_ROW(); the last arguments are the measured statements
 * @unseen: number of untimed iterations
 * @prepare: statement that is executed before each iteration, and not timed
 *
 * The first iteration of a window costs more than later iterations if other variants have trained
 * the branch predictors.  This extra cost does not cancel out in the slope, because it differs
 * between the three windows of a variant: the cost is highest in the first window, whose loop count
 * is random.
 */
#define BENCH_OPS_EACH_AFTER(id, unseen, prepare, ...)			\
	BENCH_AT_LAYOUTS(8, BENCH_OP_EACH_AFTER, id, unseen, prepare, __VA_ARGS__)

#endif /* KMARKERS_BENCH_WINDOW_H */
