/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_NATIVE_NOMEM_H
#define TESTS_NATIVE_NOMEM_H

/* The first memory that calloc() has returned since a test set this pointer to NULL. */
extern void *test_first_allocation;

#endif /* TESTS_NATIVE_NOMEM_H */
