/* SPDX-License-Identifier: GPL-2.0-only */
/* Cases for what only a program has. */
#ifndef TESTS_NATIVE_PROCESS_H
#define TESTS_NATIVE_PROCESS_H

#include <sys/types.h>

#include "../common/test.h"

extern const struct test_case process_cases[];
extern const unsigned int process_nr_cases;

/* The program's own SIGTRAP handler, installed before kmarkers_start(). */
void process_count_trap(int sig);
unsigned long process_traps_counted(void);

/* Exit code of a child, 128 and more if a signal ended it, -1 if there is none. */
int process_reap(pid_t child);

#endif /* TESTS_NATIVE_PROCESS_H */
