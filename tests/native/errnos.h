/* SPDX-License-Identifier: GPL-2.0-only */
/* Test cases of errnos.c: hits do not change errno. */
#ifndef TESTS_NATIVE_ERRNOS_H
#define TESTS_NATIVE_ERRNOS_H

#include "../common/test.h"

extern const struct test_case errno_cases[];
extern const unsigned int errno_nr_cases;

#endif /* TESTS_NATIVE_ERRNOS_H */
