/* SPDX-License-Identifier: GPL-2.0-only */
/* Test cases of prefixes.c: changes of an instruction's prefix while a thread is held there. */
#ifndef TESTS_NATIVE_PREFIXES_H
#define TESTS_NATIVE_PREFIXES_H

#include "../common/test.h"

extern const struct test_case prefixes_cases[];
extern const unsigned int prefixes_nr_cases;

#endif /* TESTS_NATIVE_PREFIXES_H */
