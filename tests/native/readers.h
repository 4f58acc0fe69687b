/* SPDX-License-Identifier: GPL-2.0-only */
/* Test cases of readers.c: deadlocks of probes, locks of the program, fork and cancellation. */
#ifndef TESTS_NATIVE_READERS_H
#define TESTS_NATIVE_READERS_H

#include "../common/test.h"

extern const struct test_case reader_cases[];
extern const unsigned int reader_nr_cases;

#endif /* TESTS_NATIVE_READERS_H */
