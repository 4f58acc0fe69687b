/* SPDX-License-Identifier: GPL-2.0-only */
/* Test cases of buffers.c: the buffers of benchmarks. */
#ifndef TESTS_NATIVE_BUFFERS_H
#define TESTS_NATIVE_BUFFERS_H

#include "../common/test.h"

extern const struct test_case buffer_cases[];
extern const unsigned int buffer_nr_cases;

#endif /* TESTS_NATIVE_BUFFERS_H */
