/* SPDX-License-Identifier: GPL-2.0-only */
/* Test cases of pure.c: internal functions of the modules. */
#ifndef TESTS_NATIVE_PURE_H
#define TESTS_NATIVE_PURE_H

#include "../common/test.h"

extern const struct test_case pure_cases[];
extern const unsigned int pure_nr_cases;

#endif /* TESTS_NATIVE_PURE_H */
