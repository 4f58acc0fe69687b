/* SPDX-License-Identifier: GPL-2.0-only */
/* Test cases of forks.c: children of fork(). */
#ifndef TESTS_NATIVE_FORKS_H
#define TESTS_NATIVE_FORKS_H

#include "../common/test.h"

extern const struct test_case fork_cases[];
extern const unsigned int fork_nr_cases;

#endif /* TESTS_NATIVE_FORKS_H */
