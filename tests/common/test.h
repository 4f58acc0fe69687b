/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interface of the test cases that run both in a kernel module and in user space.  A test case
 * returns NULL if the test has passed, else the text of the expectation that failed.  The cleanup
 * function of the test case is called whether or not the test has passed.
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
 * Scale of the stress tests.  The number of changes that each stress test makes is proportional to
 * this value.  This number does not depend on the number of CPUs or on their speed.
 */
extern unsigned int test_batches;

/*
 * test_seconds is the minimum duration of the case patcher_storm_of_kinds in seconds.
 * test_stormed_ms is the duration of the last stress test of test_kinds.c in milliseconds.
 */
extern unsigned int test_seconds;
extern unsigned long test_stormed_ms;

/*
 * test_start_threads() starts a thread on every CPU, which calls @pass repeatedly, and returns 0
 * or an error.  test_stop_threads() stops the threads, and returns the number of calls of all
 * threads, or 0 if a thread made no call.
 */
int test_start_threads(void (*pass)(void));
unsigned long test_stop_threads(void);

/* Wait until each thread has returned at least once from a call of @pass. */
void test_wait_until_threads_passed(void);

/* Wait until each thread has begun a new call of @pass and has returned from that call. */
static inline void test_wait_for_new_pass_of_threads(void)
{
	test_wait_until_threads_passed();
	test_wait_until_threads_passed();
}

/*
 * test_enable_failing_allocations() permits this task to call test_fail_nth_allocation(), or
 * returns an error.  test_fail_nth_allocation() makes the @nth of the task's next allocations fail,
 * or no allocation if @nth is 0.  test_has_allocation_failed() returns true if this allocation has
 * failed.  test_disable_failing_allocations() undoes test_enable_failing_allocations().
 */
int test_enable_failing_allocations(void);
void test_fail_nth_allocation(unsigned int nth);
bool test_has_allocation_failed(void);
void test_disable_failing_allocations(void);

/*
 * test_plant_breakpoint() stores an int3 at @addr without kmarkers.  The handler of this breakpoint
 * counts how often the breakpoint is executed, and continues behind the int3.
 * test_remove_breakpoint() removes the breakpoint and returns the count.
 */
int test_plant_breakpoint(u8 *addr);
unsigned int test_remove_breakpoint(void);

/*
 * test_map_wrong_page(@addr) makes this task map a wrong page whenever the task maps the page of
 * @addr for writing; test_map_wrong_page(NULL) undoes this.  test_wrong_page_was_mapped() returns
 * true if the wrong page was mapped.  test_wrong_page_is_unchanged() returns true if the wrong page
 * has its old contents.
 */
int test_map_wrong_page(const void *addr);
bool test_wrong_page_was_mapped(void);
bool test_wrong_page_is_unchanged(void);

/* Return true if only one CPU is online. */
bool test_has_one_cpu(void);

/* Return true if the patcher can wait for preempted tasks: in the kernel, not in user space. */
bool test_can_wait_for_tasks(void);

#endif /* TESTS_COMMON_TEST_H */
