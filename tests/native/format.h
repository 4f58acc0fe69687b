/* SPDX-License-Identifier: GPL-2.0-only */
/* Test cases of format.c: formats of markers. */
#ifndef TESTS_NATIVE_FORMAT_H
#define TESTS_NATIVE_FORMAT_H

#include "../common/test.h"

extern const struct test_case format_cases[];
extern const unsigned int format_nr_cases;

#endif /* TESTS_NATIVE_FORMAT_H */
