/* SPDX-License-Identifier: GPL-2.0-only */
/* Cases for kmarkers_start() and what batches need after it. */
#ifndef TESTS_NATIVE_START_H
#define TESTS_NATIVE_START_H

#include "../common/test.h"

extern const struct test_case start_cases[];
extern const unsigned int start_nr_cases;

/* The part of a case that runs in a program of its own, not started yet; its exit code. */
int start_scenario(const char *name);

#endif /* TESTS_NATIVE_START_H */
