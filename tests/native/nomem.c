// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes allocations fail.  The linker replaces calloc() by __wrap_calloc(), and strdup() by
 * __wrap_strdup().  In user space, kvcalloc(), kzalloc() and similar functions call calloc(), and
 * kstrdup() calls strdup().  check_memory_is_freed() finds memory that is not freed.
 */
#include <malloc.h>
#include <stdlib.h>

#include "../common/test.h"
#include "nomem.h"

void *test_first_allocation;

/* Number of the allocation that fails: 1 for the next allocation; 0 if no allocation fails. */
static unsigned int fail_at;

void *__real_calloc(size_t nr, size_t size);
void *__wrap_calloc(size_t nr, size_t size);

void *__wrap_calloc(size_t nr, size_t size)
{
	void *memory;

	if (fail_at && !--fail_at)
		return NULL;
	memory = __real_calloc(nr, size);
	if (!test_first_allocation)
		test_first_allocation = memory;
	return memory;
}

char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);

char *__wrap_strdup(const char *text)
{
	if (fail_at && !--fail_at)
		return NULL;
	return __real_strdup(text);
}

int test_enable_failing_allocations(void)
{
	return 0;
}

void test_fail_nth_allocation(unsigned int nth)
{
	fail_at = nth;
}

bool test_has_allocation_failed(void)
{
	return !fail_at;
}

void test_disable_failing_allocations(void)
{
	fail_at = 0;
}

#define MAX_LEFT_BYTES	4096

const char *check_memory_is_freed(int (*change)(void))
{
	size_t before;

	EXPECT(!change());
	before = mallinfo2().uordblks;
	EXPECT(!change());
	EXPECT(mallinfo2().uordblks < before + MAX_LEFT_BYTES);
	return NULL;
}
