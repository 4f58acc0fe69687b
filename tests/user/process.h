/* SPDX-License-Identifier: GPL-2.0-only */
/* Cases for what only a program has. */
#ifndef TESTS_USER_PROCESS_H
#define TESTS_USER_PROCESS_H

#include "../common/test.h"

extern const struct test_case process_cases[];
extern const unsigned int process_nr_cases;

/* The program's own SIGTRAP handler, installed before kmarkers_start(). */
void process_count_trap(int sig);

#endif /* TESTS_USER_PROCESS_H */
