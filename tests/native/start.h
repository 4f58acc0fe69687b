/* SPDX-License-Identifier: GPL-2.0-only */
/* Test cases of start.c: kmarkers_start() and batches while a resource is missing. */
#ifndef TESTS_NATIVE_START_H
#define TESTS_NATIVE_START_H

#include "../common/test.h"

extern const struct test_case start_cases[];
extern const unsigned int start_nr_cases;

/* Run a scenario in a program that has not called kmarkers_start().  Return the exit code. */
int start_run_scenario(const char *name);

/*
 * start_exec_scenario() executes this program anew, by exec(), to run a scenario.
 * start_run_in_child() runs the scenario in a child process, and returns the exit code of the
 * child.
 */
void start_exec_scenario(char *name);
int start_run_in_child(char *name);

#endif /* TESTS_NATIVE_START_H */
