/* SPDX-License-Identifier: GPL-2.0-only */
/* Cases for kmarkers_start(), and for batches that lack something after it. */
#ifndef TESTS_NATIVE_START_H
#define TESTS_NATIVE_START_H

#include "../common/test.h"

extern const struct test_case start_cases[];
extern const unsigned int start_nr_cases;

/* Run a scenario in a program before kmarkers_start().  Return the exit code. */
int start_scenario(const char *name);

/* Become a new process of this program, which runs a scenario; in a child of its own: its exit code. */
void start_exec(char *name);
int start_anew(char *name);

#endif /* TESTS_NATIVE_START_H */
