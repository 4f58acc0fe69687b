// SPDX-License-Identifier: GPL-2.0-only
/* Tests of kmarkers with forks, signals, signal stacks and short-lived threads. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/kernel.h>

#include <kmarkers/patcher.h>
#include <kmarkers/user.h>

#include "../../native/trap.h"
#include "process.h"

/* All bytes of each value are equal, so that check_value() recognises a partly changed value. */
#define ONES	0x0101010101010101ULL

static DEFINE_IMV(u64, value) = ONES;
static bool stop;
static unsigned long wrong, passes;

static noinline void check_value(void)
{
	u64 seen = imv_read(value);

	if (seen != (seen & 0xff) * ONES)
		__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&passes, 1, __ATOMIC_RELAXED);
}

/* Change the immediate value @nr times. */
static int change_value_repeatedly(unsigned int nr)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < nr && !err; i++)
		err = imv_set(value, (i % 255 + 1) * ONES);
	return err;
}

/*
 * Change the immediate value test_batches times while three threads execute @run.  @run returns
 * when stop is set.
 */
static const char *change_value_while_running(void *(*run)(void *))
{
	unsigned int i, nr = 0;
	pthread_t threads[3];
	int err = 0;

	stop = false;
	wrong = passes = 0;
	while (nr < ARRAY_SIZE(threads) && !err) {
		err = pthread_create(&threads[nr], NULL, run, NULL);
		nr += !err;
	}
	/*
	 * Wait until a thread runs: on a busy machine, all changes might be made before any thread
	 * runs.
	 */
	while (!err && !READ_ONCE(passes))
		sched_yield();
	if (!err)
		err = change_value_repeatedly(test_batches);
	WRITE_ONCE(stop, true);
	for (i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	EXPECT(!err);
	EXPECT(passes);
	EXPECT(!wrong);
	return NULL;
}

int reap_child(pid_t child)
{
	int status;

	if (child < 0 || waitpid(child, &status, 0) != child)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void begin_stderr_capture(struct capture *capture)
{
	capture->saved = dup(STDERR_FILENO);
	capture->log = tmpfile();
	dup2(fileno(capture->log), STDERR_FILENO);
}

void end_stderr_capture(struct capture *capture, char *said, size_t size)
{
	dup2(capture->saved, STDERR_FILENO);
	close(capture->saved);
	rewind(capture->log);
	said[fread(said, 1, size - 1, capture->log)] = '\0';
	fclose(capture->log);
}

static int change_value(u64 to)
{
	return imv_set(value, to) || imv_read(value) != to;
}

static u64 read_first;

/* Read the value before main() calls kmarkers_start(). */
static __attribute__((constructor)) void read_before_main(void)
{
	read_first = imv_read(value);
}

static void read_value_1000_times(void)
{
	unsigned int i;

	for (i = 0; i < 1000; i++)
		check_value();
}

static DEFINE_IMV(int, forks);
static int fork_error;

static void count_fork_in_value(void)
{
	int err = imv_set(forks, imv_read(forks) + 1);

	if (err)
		fork_error = err;
}

/*
 * Register two handlers of fork() before kmarkers_start() is called: one changes text, the other
 * hits sites.
 */
static __attribute__((constructor)) void register_fork_handlers(void)
{
	pthread_atfork(count_fork_in_value, NULL, read_value_1000_times);
}

static const char *process_reads_zero_before_start(void)
{
	EXPECT(read_first == 0);
	EXPECT(_imv_read(value) != 0);
	return NULL;
}

static const char *process_starts_once(void)
{
	EXPECT(kmarkers_start() == -EBUSY);
	return NULL;
}

static unsigned long bad_children;

/* Fork repeatedly.  Each child must be able to read and to change the value, and to fork. */
static void *fork_often(void *unused)
{
	while (!READ_ONCE(stop)) {
		pid_t child = fork();

		if (!child) {
			u64 seen = imv_read(value);
			bool good = seen == _imv_read(value) && !change_value(7 * ONES);

			_exit(!good || reap_child(fork() ?: (_exit(change_value(8 * ONES)), 0)));
		}
		if (reap_child(child))
			__atomic_fetch_add(&bad_children, 1, __ATOMIC_RELAXED);
		check_value();
	}
	return NULL;
}

static const char *process_fork_storm(void)
{
	const char *failed = change_value_while_running(fork_often);

	EXPECT(!bad_children);
	EXPECT(!fork_error);
	return failed;
}

/* Check that changes are refused in a child made by clone(2), which shares the text. */
static const char *process_refuses_changes_after_clone(void)
{
	pid_t child;

	EXPECT(!change_value(ONES));
	child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!child)
		_exit(imv_read(value) != ONES || imv_set(value, 2 * ONES) != -EPERM);
	EXPECT(reap_child(child) == 0);
	EXPECT(imv_read(value) == ONES);
	return NULL;
}

/*
 * Make a child by clone(2), which is process 1 of its own PID namespace.  Return true if the child
 * cannot change values.
 */
static bool is_refused_in_new_namespace(void)
{
	pid_t child = syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0);

	if (!child)
		_exit(getpid() != 1 || imv_set(value, 2 * ONES) != -EPERM);
	return !reap_child(child);
}

/*
 * Check that changes are refused in a child of clone(2) that has the same process ID as its parent.
 * Both are process 1, as if a program in a container started another container.
 */
static const char *process_refuses_changes_after_clone_of_process_1(void)
{
	enum { PASSED, FAILED, NO_NAMESPACE };
	pid_t child;
	int end;

	child = fork();
	if (!child) {
		if (unshare(CLONE_NEWPID) && unshare(CLONE_NEWUSER | CLONE_NEWPID))
			_exit(NO_NAMESPACE);
		child = fork();
		if (!child)
			_exit(getpid() != 1 || change_value(ONES) || !is_refused_in_new_namespace() ||
			      imv_read(value) != ONES || change_value(2 * ONES));
		_exit(reap_child(child) ? FAILED : PASSED);
	}
	end = reap_child(child);
	if (end == NO_NAMESPACE)
		return "SKIP no permission to make a PID namespace";
	EXPECT(end == PASSED);
	return NULL;
}

/*
 * Close all descriptors, as daemons do.  Then open files, which get the numbers of the closed
 * descriptors, and change the value.  Return true if the change has written nothing to these files.
 */
static bool change_value_without_descriptors(void)
{
	char mine[1 << 16], theirs[sizeof(mine)];
	int file;

	if (close_range(STDERR_FILENO + 1, ~0U, 0))
		return false;
	memset(mine, 'm', sizeof(mine));
	for (file = 0; file <= STDERR_FILENO + 3;) {
		file = memfd_create("mine", 0);
		if (write(file, mine, sizeof(mine)) != sizeof(mine))
			return false;
	}
	if (change_value(5 * ONES))
		return false;
	while (--file > STDERR_FILENO)
		if (pread(file, theirs, sizeof(theirs), 0) != sizeof(theirs) ||
		    memcmp(mine, theirs, sizeof(mine)))
			return false;
	return true;
}

static const char *process_needs_no_open_descriptors(void)
{
	pid_t child = fork();

	if (!child)
		_exit(!change_value_without_descriptors());
	EXPECT(reap_child(child) == 0);
	return NULL;
}

static void *read_with_sigtrap_blocked(void *unused)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTRAP);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	while (!READ_ONCE(stop))
		check_value();
	return NULL;
}

/* Expect that SIGTRAP kills a child in which @run executes sites with SIGTRAP blocked. */
static const char *expect_death_by_sigtrap(void *(*run)(void *))
{
	pid_t child = fork();

	if (!child) {
		test_batches = 100000;
		change_value_while_running(run);
		_exit(0);
	}
	EXPECT(reap_child(child) == 128 + SIGTRAP);
	return NULL;
}

static const char *process_blocked_sigtrap_storm(void)
{
	return expect_death_by_sigtrap(read_with_sigtrap_blocked);
}

/*
 * Check that kmarkers_start() fails while SIGTRAP is blocked: otherwise a breakpoint would kill the
 * program.
 */
static const char *process_cannot_start_with_blocked_sigtrap(void)
{
	pid_t child = fork();
	sigset_t set;

	if (!child) {
		sigemptyset(&set);
		sigaddset(&set, SIGTRAP);
		pthread_sigmask(SIG_BLOCK, &set, NULL);
		_exit(native_install_sigtrap(patcher_handle_int3) != -EPERM);
	}
	EXPECT(reap_child(child) == 0);
	return NULL;
}

static void read_in_signal_handler(int sig)
{
	read_value_1000_times();
}

static void *read_in_masking_handler(void *unused)
{
	struct sigaction action = { .sa_handler = read_in_signal_handler };

	sigaddset(&action.sa_mask, SIGTRAP);
	sigaction(SIGUSR1, &action, NULL);
	while (!READ_ONCE(stop))
		raise(SIGUSR1);
	return NULL;
}

static const char *process_masking_handler_storm(void)
{
#ifdef __SANITIZE_THREAD__
	return "SKIP ThreadSanitizer runs handlers with masks of its own";
#endif
	return expect_death_by_sigtrap(read_in_masking_handler);
}

static void *read_on_signal_stack(void *unused)
{
	stack_t stack = { .ss_size = 1 << 17 }, none = { .ss_flags = SS_DISABLE };

	stack.ss_sp = malloc(stack.ss_size);
	sigaltstack(&stack, NULL);
	while (!READ_ONCE(stop)) {
		raise(SIGUSR1);
		read_in_signal_handler(0);
	}
	sigaltstack(&none, NULL);
	free(stack.ss_sp);
	return NULL;
}

static const char *process_signal_stack_storm(void)
{
	struct sigaction action = { .sa_handler = read_in_signal_handler, .sa_flags = SA_ONSTACK };

#ifdef __SANITIZE_THREAD__
	return "SKIP ThreadSanitizer blocks all signals while a handler runs";
#endif
	EXPECT(!sigaction(SIGUSR1, &action, NULL));
	return change_value_while_running(read_on_signal_stack);
}

static void *read_value_100_times(void *unused)
{
	unsigned int i;

	for (i = 0; i < 100; i++)
		check_value();
	return NULL;
}

static void *start_short_threads(void *unused)
{
	pthread_t thread;

	while (!READ_ONCE(stop))
		if (!pthread_create(&thread, NULL, read_value_100_times, NULL))
			pthread_join(thread, NULL);
	return NULL;
}

static const char *process_short_threads_storm(void)
{
	return change_value_while_running(start_short_threads);
}

static unsigned long foreign;

void count_foreign_trap(int sig)
{
	__atomic_fetch_add(&foreign, 1, __ATOMIC_RELAXED);
}

unsigned long get_foreign_trap_count(void)
{
	return foreign;
}

/* Check that a SIGTRAP that kmarkers has not caused is passed to the program's own handler. */
static const char *process_passes_on_foreign_traps(void)
{
	unsigned long before = foreign;

	asm volatile("int3");
	EXPECT(foreign == before + 1);
	raise(SIGTRAP);
	EXPECT(foreign == before + 2);
	return NULL;
}

/*
 * Let a child set @handler for SIGTRAP before the library installs its own handler, and then get
 * SIGTRAP: by an int3 if @by_int3 is true, else by raise().  Return what reap_child() returns.
 */
static int trap_child_with_handler(void (*handler)(int), bool by_int3)
{
	pid_t child = fork();

	if (!child) {
		signal(SIGTRAP, handler);
		if (native_install_sigtrap(patcher_handle_int3))
			_exit(1);
		if (by_int3)
			asm volatile("int3");
		else
			raise(SIGTRAP);
		_exit(0);
	}
	return reap_child(child);
}

/*
 * Check a program that ignores SIGTRAP: after kmarkers_start(), raise(SIGTRAP) is still ignored,
 * but an int3 kills the program.
 */
static const char *process_still_ignores_sigtrap(void)
{
	EXPECT(trap_child_with_handler(SIG_IGN, false) == 0);
	EXPECT(trap_child_with_handler(SIG_IGN, true) == 128 + SIGTRAP);
	return NULL;
}

/* Check that SIGTRAP kills a program that has no handler of its own. */
static const char *process_dies_by_sigtrap_without_a_handler(void)
{
	EXPECT(trap_child_with_handler(SIG_DFL, false) == 128 + SIGTRAP);
	EXPECT(trap_child_with_handler(SIG_DFL, true) == 128 + SIGTRAP);
	return NULL;
}

const struct test_case process_cases[] = {
	{ "process_reads_zero_before_start", process_reads_zero_before_start, NULL },
	{ "process_cannot_start_with_blocked_sigtrap", process_cannot_start_with_blocked_sigtrap,
	  NULL },
	{ "process_starts_once", process_starts_once, NULL },
	{ "process_passes_on_foreign_traps", process_passes_on_foreign_traps, NULL },
	{ "process_still_ignores_sigtrap", process_still_ignores_sigtrap, NULL },
	{ "process_dies_by_sigtrap_without_a_handler", process_dies_by_sigtrap_without_a_handler,
	  NULL },
	{ "process_fork_storm", process_fork_storm, NULL },
	{ "process_refuses_changes_after_clone", process_refuses_changes_after_clone, NULL },
	{ "process_refuses_changes_after_clone_of_process_1",
	  process_refuses_changes_after_clone_of_process_1, NULL },
	{ "process_needs_no_open_descriptors", process_needs_no_open_descriptors, NULL },
	{ "process_blocked_sigtrap_storm", process_blocked_sigtrap_storm, NULL },
	{ "process_masking_handler_storm", process_masking_handler_storm, NULL },
	{ "process_signal_stack_storm", process_signal_stack_storm, NULL },
	{ "process_short_threads_storm", process_short_threads_storm, NULL },
};

const unsigned int process_nr_cases = ARRAY_SIZE(process_cases);
