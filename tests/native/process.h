/* SPDX-License-Identifier: GPL-2.0-only */
/* Test cases of process.c: forks, signals, signal stacks and short-lived threads. */
#ifndef TESTS_NATIVE_PROCESS_H
#define TESTS_NATIVE_PROCESS_H

#include <stdio.h>
#include <sys/types.h>

#include "../common/test.h"

extern const struct test_case process_cases[];
extern const unsigned int process_nr_cases;

/*
 * The program's own SIGTRAP handler, which is installed before kmarkers_start(), and the number of
 * its calls.
 */
void count_foreign_trap(int sig);
unsigned long get_foreign_trap_count(void);

/* Wait for a child.  Return the exit code, 128 + SIGNAL if a signal ended the child, or -1. */
int reap_child(pid_t child);

/* end_stderr_capture() copies the text written to stderr since begin_stderr_capture() to @said. */
struct capture {
	FILE *log;
	int saved;
};

void begin_stderr_capture(struct capture *capture);
void end_stderr_capture(struct capture *capture, char *said, size_t size);

#endif /* TESTS_NATIVE_PROCESS_H */
