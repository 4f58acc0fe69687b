// SPDX-License-Identifier: GPL-2.0-only
/*
 * kmarkers_start() without memory, descriptors or other resources.  And batches without
 * SIGTRAP or membarrier(), which were available at the start.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/kernel.h>

#include <kmarkers/user.h>

#include "process.h"
#include "refuse.h"
#include "start.h"

static DEFINE_IMV(int, value) = 1;

/* Return whether the site reads the variable's value and follows a change of it. */
static bool works(void)
{
	int before = _imv_read(value);

	return before && imv_read(value) == before && !imv_set(value, before + 1) &&
	       imv_read(value) == before + 1;
}

static bool limit(int what, rlim_t most)
{
	struct rlimit limit;

	if (getrlimit(what, &limit))
		return false;
	limit.rlim_cur = most;
	return !setrlimit(what, &limit);
}

/* Return whether an int3 calls the handler older than kmarkers_start() once. */
static bool passes_on_traps(void)
{
	unsigned long before = process_traps_counted();

	asm volatile("int3");
	return process_traps_counted() == before + 1;
}

/* Exit code: all allocations were made before the one that should fail. */
#define NOTHING_FAILED	2

/* Start while an allocation fails, which affects only the table that needs it, and start again. */
static int after_failure(unsigned int nth)
{
	int err;

	test_fail_at(nth);
	err = kmarkers_start();
	test_stop_failing();
	if (!err)
		return NOTHING_FAILED;
	return err != -ENOMEM || kmarkers_start() || !works() || !passes_on_traps() ||
	       kmarkers_start() != -EBUSY;
}

/* In each child a later allocation fails, until none fails. */
static int after_failures(void)
{
	unsigned int nth = 0;
	int failed;
	pid_t child;

	do {
		child = fork();
		if (!child)
			_exit(after_failure(nth + 1));
		failed = process_reap(child);
		nth++;
	} while (!failed);
	return failed != NOTHING_FAILED || nth < 5;
}

static int without_memory(void)
{
	struct rlimit before;

	if (getrlimit(RLIMIT_AS, &before))
		return 1;
	if (!limit(RLIMIT_AS, 0) || kmarkers_start() != -ENOMEM)
		return 1;
	return !limit(RLIMIT_AS, before.rlim_cur) || kmarkers_start() || !works();
}

static int without_descriptors(void)
{
	if (!limit(RLIMIT_NOFILE, 0) || dup(STDERR_FILENO) >= 0)
		return 1;
	return kmarkers_start() || !works();
}

static int with_limited_files(void)
{
	return !limit(RLIMIT_FSIZE, 0) || kmarkers_start() || !works();
}

static const struct {
	const char *name;
	int (*run)(void);
} scenarios[] = {
	{ "failures", after_failures },
	{ "memory", without_memory },
	{ "descriptors", without_descriptors },
	{ "files", with_limited_files },
};

int start_scenario(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(scenarios); i++)
		if (!strcmp(scenarios[i].name, name))
			return scenarios[i].run();
	return -1;
}

/* The messages of the new program on stderr are dropped. */
void start_exec(char *name)
{
	char *const arguments[] = { "test", "--start", name, NULL };

	dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
	execv("/proc/self/exe", arguments);
	_exit(126);
}

int start_anew(char *name)
{
	pid_t child = fork();

	if (!child)
		start_exec(name);
	return process_reap(child);
}

static const char *start_is_tried_again(void)
{
	EXPECT(start_anew("failures") == 0);
	return NULL;
}

static const char *start_without_memory(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return "SKIP a sanitizer needs memory of its own";
#endif
	EXPECT(start_anew("memory") == 0);
	return NULL;
}

static const char *start_without_descriptors(void)
{
	EXPECT(start_anew("descriptors") == 0);
	return NULL;
}

static const char *start_with_limited_files(void)
{
	EXPECT(start_anew("files") == 0);
	return NULL;
}

/* Return whether a change fails with @error and changes nothing. */
static bool refuses(int error)
{
	int before = imv_read(value);

	return imv_set(value, before + 1) == error && imv_read(value) == before &&
	       _imv_read(value) == before;
}

static void on_trap(int sig)
{
}

/* In a child: replace the handler of SIGTRAP in each possible way, and restore it. */
static int lose_sigtrap(void)
{
	void (*const handlers[])(int) = { SIG_DFL, SIG_IGN, on_trap };
	struct sigaction ours;
	unsigned int i;

	if (!works())
		return 1;
	for (i = 0; i < ARRAY_SIZE(handlers); i++) {
		struct sigaction other = { .sa_handler = handlers[i] };

		if (sigaction(SIGTRAP, &other, &ours) || !refuses(-ENOLINK))
			return 2;
		if (sigaction(SIGTRAP, &ours, NULL) || !works())
			return 3;
	}
	return 0;
}

static const char *batch_without_sigtrap(void)
{
	pid_t child = fork();

	if (!child)
		_exit(lose_sigtrap());
	EXPECT(process_reap(child) == 0);
	return NULL;
}

static int lose_membarrier(int error)
{
	if (!works() || refuse_syscall(SYS_membarrier, error))
		return 1;
	return refuses(-EOPNOTSUPP) ? 0 : 2;
}

static const char *batch_without_membarrier(void)
{
	const int errors[] = { EPERM, EINVAL };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		pid_t child = fork();

		if (!child)
			_exit(lose_membarrier(errors[i]));
		EXPECT(process_reap(child) == 0);
	}
	return NULL;
}

const struct test_case start_cases[] = {
	{ "start_is_tried_again", start_is_tried_again, NULL },
	{ "start_without_memory", start_without_memory, NULL },
	{ "start_without_descriptors", start_without_descriptors, NULL },
	{ "start_with_limited_files", start_with_limited_files, NULL },
	{ "batch_without_sigtrap", batch_without_sigtrap, NULL },
	{ "batch_without_membarrier", batch_without_membarrier, NULL },
};

const unsigned int start_nr_cases = ARRAY_SIZE(start_cases);
