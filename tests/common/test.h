/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Test cases that run in a module and in a program.  A case returns NULL, or
 * the text of the expectation that failed; its cleanup runs either way.
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
 * The work of the storms is proportional to this number, whatever the number of CPUs and
 * however fast they are: none goes on until something has been hit.
 */
extern unsigned int test_batches;

/* How long the storm of kinds must last at least, and how long the last storm lasted. */
extern unsigned int test_seconds;
extern unsigned long test_stormed_ms;

/*
 * A thread on every CPU that calls @pass until test_stop_threads(), which
 * returns how many passes there were in all, or 0 if a thread made none.
 */
int test_start_threads(void (*pass)(void));
unsigned long test_stop_threads(void);

/* Wait until each of the threads has ended a pass. */
void test_wait_pass(void);

/* Wait until each of the threads has begun and ended a pass. */
static inline void test_wait_whole_pass(void)
{
	test_wait_pass();
	test_wait_pass();
}

/*
 * Between test_fail_allocations(), which returns 0 if it can be done, and
 * test_stop_failing(), the @nth allocation of this task from test_fail_at() on
 * fails; test_has_failed() tells whether it came.
 */
int test_fail_allocations(void);
void test_fail_at(unsigned int nth);
bool test_has_failed(void);
void test_stop_failing(void);

/*
 * A breakpoint that none of ours has set, and its owner, who counts the traps and
 * lets them go on behind it; the second takes it away and returns how many there were.
 */
int test_plant_breakpoint(u8 *addr);
unsigned int test_take_breakpoint(void);

/*
 * Another page is shown to this task where the page of @addr is mapped to be
 * written, until it is called with NULL; was it, and has it been left as it was?
 */
int test_show_wrong_page(const void *addr);
bool test_wrong_page_shown(void);
bool test_wrong_page_untouched(void);

/* Is there only one CPU?  Is it possible to wait for preempted tasks? */
bool test_alone(void);
bool test_can_wait(void);

#endif /* TESTS_COMMON_TEST_H */
