// SPDX-License-Identifier: GPL-2.0-only
/*
 * Allocations that fail.  The linker puts __wrap_calloc() in front of calloc(),
 * which kvcalloc(), kzalloc() and the like are here.
 */
#include <stdlib.h>

#include "../common/test.h"

/* The next allocation that fails, counting down; 0 for none. */
static unsigned int fail_at;

void *__real_calloc(size_t nr, size_t size);
void *__wrap_calloc(size_t nr, size_t size);

void *__wrap_calloc(size_t nr, size_t size)
{
	if (fail_at && !--fail_at)
		return NULL;
	return __real_calloc(nr, size);
}

int test_fail_allocations(void)
{
	return 0;
}

void test_fail_at(unsigned int nth)
{
	fail_at = nth;
}

bool test_has_failed(void)
{
	return !fail_at;
}

void test_stop_failing(void)
{
	fail_at = 0;
}
