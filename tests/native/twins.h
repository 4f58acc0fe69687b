/* SPDX-License-Identifier: GPL-2.0-only */
/* Cases for probes with a twin. */
#ifndef TESTS_NATIVE_TWINS_H
#define TESTS_NATIVE_TWINS_H

#include "../common/test.h"

extern const struct test_case twin_cases[];
extern const unsigned int twin_nr_cases;

#endif /* TESTS_NATIVE_TWINS_H */
