/* SPDX-License-Identifier: GPL-2.0-only */
/* Test cases of runs.c: benchmark runs. */
#ifndef TESTS_NATIVE_RUNS_H
#define TESTS_NATIVE_RUNS_H

#include "../common/test.h"

extern const struct test_case run_cases[];
extern const unsigned int run_nr_cases;

#endif /* TESTS_NATIVE_RUNS_H */
