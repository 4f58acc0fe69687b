/* SPDX-License-Identifier: GPL-2.0-only */
/* Cases of threads that wait for each other: readers, locks of the program, fork, cancellation. */
#ifndef TESTS_NATIVE_READERS_H
#define TESTS_NATIVE_READERS_H

#include "../common/test.h"

extern const struct test_case reader_cases[];
extern const unsigned int reader_nr_cases;

#endif /* TESTS_NATIVE_READERS_H */
