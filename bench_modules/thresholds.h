/* SPDX-License-Identifier: GPL-2.0-only */
/* Comparisons of a number with the threshold 0xffffffff, which no number exceeds. */
#ifndef BENCH_MODULES_THRESHOLDS_H
#define BENCH_MODULES_THRESHOLDS_H

#include <linux/compiler.h>
#include <linux/types.h>

#include <kmarkers/immediate.h>

static DEFINE_IMV(u32, immediate_threshold) = ~0U;
static u32 variable_threshold = ~0U;
static unsigned long exceeded;

/* Compare @number with a variable by one cmp and one jump, like the code that compilers emit. */
static __always_inline bool is_above_variable_threshold(u32 number)
{
	asm goto("cmpl %1, %0\n\t"
		 "ja %l[yes]"
		 : : "r" (number), "m" (variable_threshold) : "cc" : yes);
	return false;
yes:
	return true;
}

/*
 * Compare the content of a register that is not initialised, because an initialisation would take
 * an instruction.  Without volatile, the compiler would merge the asm statements of all tests, and
 * add instructions that move the number between registers.
 */
#define TEST_ANY_NUMBER(is_above)					\
do {									\
	u32 number;							\
									\
	asm volatile("" : "=r" (number));				\
	if (unlikely(is_above))						\
		exceeded++;						\
} while (0)

#define IMV_COMPARE_TEST()		TEST_ANY_NUMBER(imv_above(number, immediate_threshold))
#define VARIABLE_COMPARE_TEST()		TEST_ANY_NUMBER(is_above_variable_threshold(number))

#endif /* BENCH_MODULES_THRESHOLDS_H */
