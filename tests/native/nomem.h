/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_NATIVE_NOMEM_H
#define TESTS_NATIVE_NOMEM_H

/* Memory that calloc() has returned first since a test set this pointer to NULL. */
extern void *test_first_allocation;

#endif /* TESTS_NATIVE_NOMEM_H */
