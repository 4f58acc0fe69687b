/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interface of the test cases that run both in a module and in a program.  A case returns NULL, or
 * the text of the expectation that failed.  Its cleanup function is called after either.
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
 * struct test_case - one test case
 * @name: unique name of the case
 * @run: function that returns NULL, the text of the first expectation that failed, or "SKIP " and
 *	the reason
 * @cleanup: function that undoes the changes of @run, or NULL
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

/*
 * Scale of the stress tests: the number of changes that each makes is proportional to it, and does
 * not depend on the number of CPUs or on their speed.
 */
extern unsigned int test_batches;

/*
 * Minimum duration of patcher_storm_of_kinds in seconds, and duration of the last stress test of
 * test_kinds.c in milliseconds.
 */
extern unsigned int test_seconds;
extern unsigned long test_stormed_ms;

/*
 * Start a thread on every CPU that calls @pass repeatedly, until test_stop_threads() stops them.
 * That returns the number of calls of all threads, or 0 if a thread made none.
 */
int test_start_threads(void (*pass)(void));
unsigned long test_stop_threads(void);

/* Wait until each thread has returned from @pass once more. */
void test_wait_pass(void);

/* Wait until each thread has called @pass and returned from that call. */
static inline void test_wait_whole_pass(void)
{
	test_wait_pass();
	test_wait_pass();
}

/*
 * test_fail_allocations() prepares failing allocations of this task, and returns 0 if they are
 * possible.  test_fail_at() makes the @nth allocation from then on fail.  test_has_failed() returns
 * true if that allocation has failed.  test_stop_failing() undoes test_fail_allocations().
 */
int test_fail_allocations(void);
void test_fail_at(unsigned int nth);
bool test_has_failed(void);
void test_stop_failing(void);

/*
 * test_plant_breakpoint() stores an int3 without kmarkers.  Its handler counts the traps and
 * continues behind the int3.  test_take_breakpoint() removes it and returns the count.
 */
int test_plant_breakpoint(u8 *addr);
unsigned int test_take_breakpoint(void);

/*
 * After test_show_wrong_page(@addr), this task maps another page when it maps the page of @addr for
 * writing, until a call with NULL.  test_wrong_page_shown() returns true if the other page was
 * mapped, test_wrong_page_untouched() returns true if its contents are unchanged.
 */
int test_show_wrong_page(const void *addr);
bool test_wrong_page_shown(void);
bool test_wrong_page_untouched(void);

/* Return true if only one CPU is online. */
bool test_has_one_cpu(void);

/* Return true if the patcher can wait for preempted tasks, as it does in the kernel. */
bool test_can_wait(void);

#endif /* TESTS_COMMON_TEST_H */
