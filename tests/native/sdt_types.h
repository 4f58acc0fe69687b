/* SPDX-License-Identifier: GPL-2.0-only */
/* Test cases of sdt_types.c: the declared types of SDT probes. */
#ifndef TESTS_NATIVE_SDT_TYPES_H
#define TESTS_NATIVE_SDT_TYPES_H

#include "../common/test.h"

extern const struct test_case sdt_types_cases[];
extern const unsigned int sdt_types_nr_cases;

#endif /* TESTS_NATIVE_SDT_TYPES_H */
