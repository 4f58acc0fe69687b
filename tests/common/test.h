/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Test cases that run in a module and in a program.  A case returns NULL, or
 * what did not hold; its cleanup runs either way.
 */
#ifndef TESTS_COMMON_TEST_H
#define TESTS_COMMON_TEST_H

#include <linux/stringify.h>
#include <linux/types.h>

#ifdef __KERNEL__
#include <linux/module.h>
#else
#define THIS_MODULE	NULL
#endif

/**
 * struct test_case - one test
 * @name: unique, an identifier
 * @run: returns NULL or the text of the first expectation that failed
 * @cleanup: undoes what @run left behind, or NULL
 */
struct test_case {
	const char *name;
	const char *(*run)(void);
	void (*cleanup)(void);
};

#define EXPECT(condition)						\
do {									\
	if (!(condition))						\
		return __stringify(__LINE__) ": " #condition;		\
} while (0)

extern const struct test_case test_cases[];
extern const unsigned int test_nr_cases;

/* How many batches the storms apply. */
extern unsigned int test_batches;

/*
 * A thread on every CPU that calls @pass until test_stop_threads(), which
 * returns how many passes there were in all, or 0 if a thread made none.
 */
int test_start_threads(void (*pass)(void));
unsigned long test_stop_threads(void);

/* Is there one CPU only; can tasks be waited for that were preempted? */
bool test_alone(void);
bool test_can_wait(void);

#endif /* TESTS_COMMON_TEST_H */
