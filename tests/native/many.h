/* SPDX-License-Identifier: GPL-2.0-only */
/* Test cases of many.c: many names at a time, and probes whose code is unloaded. */
#ifndef TESTS_NATIVE_MANY_H
#define TESTS_NATIVE_MANY_H

#include "../common/test.h"

extern const struct test_case many_cases[];
extern const unsigned int many_nr_cases;

#endif /* TESTS_NATIVE_MANY_H */
