/* SPDX-License-Identifier: GPL-2.0-only */
/* Test cases of copies.c: SDT sites in code that the compiler duplicates. */
#ifndef TESTS_NATIVE_COPIES_H
#define TESTS_NATIVE_COPIES_H

#include "../common/test.h"

extern const struct test_case copies_cases[];
extern const unsigned int copies_nr_cases;

#endif /* TESTS_NATIVE_COPIES_H */
