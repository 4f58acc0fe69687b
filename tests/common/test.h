/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Test cases that run in a module and in a program.  A case returns NULL, or
 * the text of the expectation that failed.  Its cleanup runs in both cases.
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
 * @name: a unique identifier
 * @run: returns NULL, the text of the first expectation that failed, or "SKIP why"
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

/*
 * The number of changes that the storms make is proportional to this number.  It does not
 * depend on the number of CPUs or on their speed.
 */
extern unsigned int test_batches;

/* The least duration of the storm of kinds, and the duration of the last storm. */
extern unsigned int test_seconds;
extern unsigned long test_stormed_ms;

/*
 * Start a thread on every CPU.  Each calls @pass repeatedly until test_stop_threads().
 * That returns the number of all calls, or 0 if a thread made none.
 */
int test_start_threads(void (*pass)(void));
unsigned long test_stop_threads(void);

/* Wait until each thread has ended a pass. */
void test_wait_pass(void);

/* Wait until each thread has begun and ended a pass. */
static inline void test_wait_whole_pass(void)
{
	test_wait_pass();
	test_wait_pass();
}

/*
 * test_fail_allocations() prepares failures and returns 0 if they are possible.
 * test_fail_at() makes the @nth allocation of this task from then on fail.
 * test_has_failed() returns whether that allocation was made.  test_stop_failing() ends it.
 */
int test_fail_allocations(void);
void test_fail_at(unsigned int nth);
bool test_has_failed(void);
void test_stop_failing(void);

/*
 * test_plant_breakpoint() sets a breakpoint without kmarkers.  Its handler counts the traps
 * and continues behind it.  test_take_breakpoint() removes it and returns the count.
 */
int test_plant_breakpoint(u8 *addr);
unsigned int test_take_breakpoint(void);

/*
 * From test_show_wrong_page() until it is called with NULL, mapping the page of @addr for
 * writing maps another page, in this task.  test_wrong_page_shown() returns whether it was
 * mapped, test_wrong_page_untouched() whether it is unchanged.
 */
int test_show_wrong_page(const void *addr);
bool test_wrong_page_shown(void);
bool test_wrong_page_untouched(void);

/* Return whether there is only one CPU; whether it is possible to wait for preempted tasks. */
bool test_alone(void);
bool test_can_wait(void);

#endif /* TESTS_COMMON_TEST_H */
