/* SPDX-License-Identifier: GPL-2.0-only */
/* Test cases of start.c: kmarkers_start() and batches without resources that they need. */
#ifndef TESTS_NATIVE_START_H
#define TESTS_NATIVE_START_H

#include "../common/test.h"

extern const struct test_case start_cases[];
extern const unsigned int start_nr_cases;

/* Run a scenario in a program that has not called kmarkers_start().  Return the exit code. */
int start_scenario(const char *name);

/*
 * start_exec() replaces this process by a new one of the same program, which runs a scenario.
 * start_anew() does so in a child process, and returns its exit code.
 */
void start_exec(char *name);
int start_anew(char *name);

#endif /* TESTS_NATIVE_START_H */
