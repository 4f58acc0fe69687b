// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of kmarkers_start() without memory, file descriptors or other resources.  Also tests of
 * batches after a successful start, when the SIGTRAP handler is no longer installed or membarrier()
 * fails.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/kernel.h>

#include <kmarkers/user.h>

#include "mappings.h"
#include "process.h"
#include "refuse.h"
#include "start.h"

static DEFINE_IMV(int, value) = 1;

/* Return true if the immediate value can be read and changed. */
static bool is_value_usable(void)
{
	int before = _imv_read(value);

	return before && imv_read(value) == before && !imv_set(value, before + 1) &&
	       imv_read(value) == before + 1;
}

static bool set_rlimit(int resource, rlim_t most)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit))
		return false;
	limit.rlim_cur = most;
	return !setrlimit(resource, &limit);
}

/* Return true if an int3 calls the handler that was installed before kmarkers_start(). */
static bool is_old_sigtrap_handler_called(void)
{
	unsigned long before = get_foreign_trap_count();

	asm volatile("int3");
	return get_foreign_trap_count() == before + 1;
}

/* Exit code if kmarkers_start() makes fewer than @nth allocations, so that no allocation fails. */
#define NOTHING_FAILED	2

/* Call kmarkers_start() while its @nth allocation fails, and check that a second call succeeds. */
static int start_after_failure(unsigned int nth)
{
	int err;

	test_fail_nth_allocation(nth);
	err = kmarkers_start();
	test_disable_failing_allocations();
	if (!err)
		return NOTHING_FAILED;
	return err != -ENOMEM || kmarkers_start() || !is_value_usable() ||
	       !is_old_sigtrap_handler_called() || kmarkers_start() != -EBUSY;
}

/*
 * Call start_after_failure() in one child process after another.  In child number n, allocation
 * number n fails.  In the last child, no allocation fails.
 */
static int start_after_each_failure(void)
{
	unsigned int nth = 0;
	int failed;
	pid_t child;

	do {
		child = fork();
		if (!child)
			_exit(start_after_failure(nth + 1));
		failed = reap_child(child);
		nth++;
	} while (!failed);
	return failed != NOTHING_FAILED || nth < 5;
}

static int start_with_no_memory(void)
{
	struct rlimit before;

	if (getrlimit(RLIMIT_AS, &before))
		return 1;
	if (!set_rlimit(RLIMIT_AS, 0) || kmarkers_start() != -ENOMEM)
		return 1;
	return !set_rlimit(RLIMIT_AS, before.rlim_cur) || kmarkers_start() || !is_value_usable();
}

static int start_with_no_descriptors(void)
{
	if (!set_rlimit(RLIMIT_NOFILE, 0) || dup(STDERR_FILENO) >= 0)
		return 1;
	return kmarkers_start() || !is_value_usable();
}

/* Call kmarkers_start() while files cannot be written to (RLIMIT_FSIZE is 0). */
static int start_with_no_file_size(void)
{
	return !set_rlimit(RLIMIT_FSIZE, 0) || kmarkers_start() || !is_value_usable();
}

/*
 * Call kmarkers_start() twice while a system call fails, and check that the second call leaves no
 * mapping.  The first call may leave memory that later calls use, such as the program's file.
 */
static int start_with_refused_call(int number, int argument, int flag)
{
	int nr;

	if (refuse_syscall_with_flag(number, argument, flag, EPERM) || kmarkers_start() != -EPERM)
		return 1;
	/* The first reading of the mappings may allocate memory. */
	count_mappings();
	nr = count_mappings();
	return nr < 0 || kmarkers_start() != -EPERM || count_mappings() != nr ? 2 : 0;
}

static int start_with_refused_calls(void)
{
	/*
	 * Each row has a system call, the number of one of its arguments, and a bit: the call fails
	 * if this argument has this bit.  In a signal number, the bit 1 selects SIGTRAP, which is
	 * 5.
	 */
	static const int calls[][3] = {
		{ SYS_mremap, 3, MREMAP_MAYMOVE }, { SYS_mremap, 3, MREMAP_FIXED },
		{ SYS_mprotect, 2, PROT_WRITE }, { SYS_rt_sigaction, 0, 1 },
	};
	unsigned int i;
	int failed = 0;

	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		pid_t child = fork();

		if (!child)
			_exit(start_with_refused_call(calls[i][0], calls[i][1], calls[i][2]));
		failed = failed ?: reap_child(child);
	}
	return failed;
}

static const struct {
	const char *name;
	int (*run)(void);
} scenarios[] = {
	{ "failures", start_after_each_failure },
	{ "memory", start_with_no_memory },
	{ "descriptors", start_with_no_descriptors },
	{ "files", start_with_no_file_size },
	{ "calls", start_with_refused_calls },
};

int start_run_scenario(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(scenarios); i++)
		if (!strcmp(scenarios[i].name, name))
			return scenarios[i].run();
	return -1;
}

/* Execute this program with a scenario.  Discard the messages of the new program on stderr. */
void start_exec_scenario(char *name)
{
	char *const arguments[] = { "test", "--start", name, NULL };

	dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
	execv("/proc/self/exe", arguments);
	_exit(126);
}

int start_run_in_child(char *name)
{
	pid_t child = fork();

	if (!child)
		start_exec_scenario(name);
	return reap_child(child);
}

static const char *start_succeeds_after_failed_allocations(void)
{
	EXPECT(start_run_in_child("failures") == 0);
	return NULL;
}

static const char *start_fails_without_memory(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return "SKIP a sanitizer needs memory of its own";
#endif
	EXPECT(start_run_in_child("memory") == 0);
	return NULL;
}

static const char *start_needs_no_descriptors(void)
{
	EXPECT(start_run_in_child("descriptors") == 0);
	return NULL;
}

static const char *start_needs_no_file_size(void)
{
	EXPECT(start_run_in_child("files") == 0);
	return NULL;
}

static const char *check_start_with_refused_calls(void)
{
	EXPECT(start_run_in_child("calls") == 0);
	return NULL;
}

/* Return true if a change fails with @error and changes nothing. */
static bool is_value_change_refused(int error)
{
	int before = imv_read(value);

	return imv_set(value, before + 1) == error && imv_read(value) == before &&
	       _imv_read(value) == before;
}

static void empty_sigtrap_handler(int sig)
{
}

/*
 * Replace the library's handler of SIGTRAP by SIG_DFL, SIG_IGN and another handler.  Changes must
 * be refused until the library's handler is restored.
 */
static int change_without_sigtrap_handler(void)
{
	void (*const handlers[])(int) = { SIG_DFL, SIG_IGN, empty_sigtrap_handler };
	struct sigaction ours;
	unsigned int i;

	if (!is_value_usable())
		return 1;
	for (i = 0; i < ARRAY_SIZE(handlers); i++) {
		struct sigaction other = { .sa_handler = handlers[i] };

		if (sigaction(SIGTRAP, &other, &ours) || !is_value_change_refused(-ENOLINK))
			return 2;
		if (sigaction(SIGTRAP, &ours, NULL) || !is_value_usable())
			return 3;
	}
	return 0;
}

static const char *batch_is_refused_without_sigtrap_handler(void)
{
	pid_t child = fork();

	if (!child)
		_exit(change_without_sigtrap_handler());
	EXPECT(reap_child(child) == 0);
	return NULL;
}

static int change_without_membarrier(int error)
{
	if (!is_value_usable() || refuse_syscall(SYS_membarrier, error))
		return 1;
	return is_value_change_refused(-EOPNOTSUPP) ? 0 : 2;
}

static const char *batch_is_refused_without_membarrier(void)
{
	const int errors[] = { EPERM, EINVAL };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		pid_t child = fork();

		if (!child)
			_exit(change_without_membarrier(errors[i]));
		EXPECT(reap_child(child) == 0);
	}
	return NULL;
}

static int change_without_mprotect(void)
{
	int nr = count_mappings();

	if (!is_value_usable() || count_mappings() != nr || refuse_syscall(SYS_mprotect, EPERM))
		return 1;
	return is_value_change_refused(-ENOMEM) && count_mappings() == nr ? 0 : 2;
}

/* Check that a batch for which no writable mapping can be made leaves no mapping. */
static const char *batch_leaves_no_mapping_without_mprotect(void)
{
	pid_t child;

#ifdef __SANITIZE_ADDRESS__
	return "SKIP the sanitizer makes mappings of its own";
#endif
	EXPECT(count_mappings() > 0);
	child = fork();
	if (!child)
		_exit(change_without_mprotect());
	EXPECT(reap_child(child) == 0);
	return NULL;
}

const struct test_case start_cases[] = {
	{ "start_succeeds_after_failed_allocations", start_succeeds_after_failed_allocations,
	  NULL },
	{ "start_fails_without_memory", start_fails_without_memory, NULL },
	{ "start_needs_no_descriptors", start_needs_no_descriptors, NULL },
	{ "start_needs_no_file_size", start_needs_no_file_size, NULL },
	{ "start_with_refused_calls", check_start_with_refused_calls, NULL },
	{ "batch_is_refused_without_sigtrap_handler", batch_is_refused_without_sigtrap_handler,
	  NULL },
	{ "batch_is_refused_without_membarrier", batch_is_refused_without_membarrier, NULL },
	{ "batch_leaves_no_mapping_without_mprotect", batch_leaves_no_mapping_without_mprotect,
	  NULL },
};

const unsigned int start_nr_cases = ARRAY_SIZE(start_cases);
