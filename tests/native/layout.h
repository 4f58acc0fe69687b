/* SPDX-License-Identifier: GPL-2.0-only */
/* Test cases of layout.c: records of trace events. */
#ifndef TESTS_NATIVE_LAYOUT_H
#define TESTS_NATIVE_LAYOUT_H

#include "../common/test.h"

extern const struct test_case layout_cases[];
extern const unsigned int layout_nr_cases;

#endif /* TESTS_NATIVE_LAYOUT_H */
