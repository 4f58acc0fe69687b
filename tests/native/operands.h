/* SPDX-License-Identifier: GPL-2.0-only */
/* Test cases of operands.c: encoded operands of notes. */
#ifndef TESTS_NATIVE_OPERANDS_H
#define TESTS_NATIVE_OPERANDS_H

#include "../common/test.h"

extern const struct test_case operands_cases[];
extern const unsigned int operands_nr_cases;

#endif /* TESTS_NATIVE_OPERANDS_H */
