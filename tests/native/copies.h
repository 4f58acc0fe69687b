/* SPDX-License-Identifier: GPL-2.0-only */
/* Cases for copies of sites that the compiler makes. */
#ifndef TESTS_NATIVE_COPIES_H
#define TESTS_NATIVE_COPIES_H

#include "../common/test.h"

extern const struct test_case copies_cases[];
extern const unsigned int copies_nr_cases;

#endif /* TESTS_NATIVE_COPIES_H */
