/* SPDX-License-Identifier: GPL-2.0-only */
/* Test cases of traced.c: programs with breakpoints of a tracer or a debugger. */
#ifndef TESTS_NATIVE_TRACED_H
#define TESTS_NATIVE_TRACED_H

#include "../common/test.h"

extern const struct test_case traced_cases[];
extern const unsigned int traced_nr_cases;

/* Scenarios in a traced program that has not called kmarkers_start().  Return the exit code. */
int traced_by_uprobes(void);
int traced_by_debugger(void);

#endif /* TESTS_NATIVE_TRACED_H */
