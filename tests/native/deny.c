// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs a command, and makes some of its system calls fail. usage: deny SYSCALL=ERRNO... -- COMMAND
 * [ARGUMENT...] SYSCALL is one of the names below, ERRNO a number.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/kernel.h>

#include "refuse.h"

static const struct {
	const char *name;
	int number;
} syscalls[] = {
	{ "membarrier", SYS_membarrier },
	{ "mremap", SYS_mremap },
	{ "perf_event_open", SYS_perf_event_open },
	{ "sched_getaffinity", SYS_sched_getaffinity },
	{ "sched_setaffinity", SYS_sched_setaffinity },
	{ "socket", SYS_socket },
	{ "wait4", SYS_wait4 },
};

static int deny_named_syscall(char *failure)
{
	char *error = strchr(failure, '=');
	unsigned int i;

	if (!error)
		return -1;
	*error++ = 0;
	for (i = 0; i < ARRAY_SIZE(syscalls); i++)
		if (!strcmp(failure, syscalls[i].name))
			return refuse_syscall(syscalls[i].number, atoi(error));
	return -1;
}

int main(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		if (deny_named_syscall(argv[i])) {
			fprintf(stderr, "deny: cannot make %s fail\n", argv[i]);
			return 125;
		}
	}
	if (i + 1 >= argc)
		return 125;
	execvp(argv[i + 1], &argv[i + 1]);
	perror(argv[i + 1]);
	return 126;
}
