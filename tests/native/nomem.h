/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_NATIVE_NOMEM_H
#define TESTS_NATIVE_NOMEM_H

/* The first memory that calloc() has returned since a test set this pointer to NULL. */
extern void *test_first_allocation;

/*
 * Check that a second call of @change leaves hardly more memory allocated than the first call.
 * @change allocates and frees memory many times, and returns 0 or an error.
 */
const char *check_memory_is_freed(int (*change)(void));

#endif /* TESTS_NATIVE_NOMEM_H */
