/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_NATIVE_COUNTERS_H
#define TESTS_NATIVE_COUNTERS_H

#include "../common/test.h"

extern const struct test_case counters_cases[];
extern const unsigned int counters_nr_cases;

#endif /* TESTS_NATIVE_COUNTERS_H */
