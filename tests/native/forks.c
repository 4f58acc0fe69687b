// SPDX-License-Identifier: GPL-2.0-only
/* Tests of fork(): a child gets its own copy of the text before the child executes any site. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <linux/kernel.h>
#include <linux/mutex.h>

#include <kmarkers/user.h>

#include "forks.h"
#include "mappings.h"
#include "process.h"

static DEFINE_IMV(int, value) = 1;

static int change_value(int to)
{
	return imv_set(value, to) || imv_read(value) != to;
}

static int to_child[2] = { -1, -1 }, to_parent[2] = { -1, -1 };

static bool open_pipes(void)
{
	return !pipe(to_child) && !pipe(to_parent);
}

static void close_pipe_end(int *end)
{
	if (*end >= 0)
		close(*end);
	*end = -1;
}

static void close_pipes(void)
{
	close_pipe_end(&to_child[0]);
	close_pipe_end(&to_child[1]);
	close_pipe_end(&to_parent[0]);
	close_pipe_end(&to_parent[1]);
}

static bool write_pipe_byte(const int *pipe)
{
	return write(pipe[1], "", 1) == 1;
}

static bool read_pipe_byte(const int *pipe)
{
	char byte;

	return read(pipe[0], &byte, 1) == 1;
}

/*
 * Check that a change in the parent has no effect in the child, and that a change in the child has
 * no effect in the parent.
 */
static const char *change_value_in_parent_and_child(void)
{
	pid_t child;

	EXPECT(!change_value(1));
	child = fork();
	if (!child) {
		bool good = imv_read(value) == 1 && !change_value(2) &&
			    write_pipe_byte(to_parent) && read_pipe_byte(to_child) &&
			    imv_read(value) == 2 && !change_value(3);

		_exit(!good);
	}
	/* Close our write end, so that read_pipe_byte() returns if the child ends early. */
	close_pipe_end(&to_parent[1]);
	EXPECT(read_pipe_byte(to_parent));
	EXPECT(imv_read(value) == 1);
	EXPECT(!change_value(4));
	EXPECT(write_pipe_byte(to_child));
	EXPECT(reap_child(child) == 0);
	EXPECT(imv_read(value) == 4);
	return NULL;
}

static const char *fork_separates_the_texts(void)
{
	EXPECT(open_pipes());
	return change_value_in_parent_and_child();
}

/* Check that a process that cannot open files can fork: copying the text needs no descriptor. */
static const char *fork_needs_no_descriptors(void)
{
	struct rlimit none = { 0, 0 };
	pid_t child;

	EXPECT(open_pipes());
	child = fork();
	if (!child) {
		bool limited = !setrlimit(RLIMIT_NOFILE, &none) && dup(STDOUT_FILENO) < 0;

		_exit(!limited || change_value_in_parent_and_child());
	}
	close_pipes();
	EXPECT(reap_child(child) == 0);
	return NULL;
}

/* Fork a child while no memory can be mapped.  Return the exit code of the child, or -1. */
static int fork_once_without_memory(void)
{
	struct rlimit before, none;
	pid_t child;

	if (getrlimit(RLIMIT_AS, &before))
		return -1;
	none = before;
	none.rlim_cur = 0;
	if (setrlimit(RLIMIT_AS, &none))
		return -1;
	child = fork();
	if (!child)
		_exit(0);
	setrlimit(RLIMIT_AS, &before);
	return change_value(5) ? -1 : reap_child(child);
}

/* Check that a child without memory for its own text exits with a message, if stderr is open. */
static const char *fork_without_memory_ends_the_child(void)
{
	char message[256] = "";
	pid_t child;

	EXPECT(open_pipes());
	child = fork();
	if (!child)
		_exit(dup2(to_parent[1], STDERR_FILENO) < 0 ? -1 : fork_once_without_memory());
	EXPECT(reap_child(child) == 127);
	close_pipe_end(&to_parent[1]);
	EXPECT(read(to_parent[0], message, sizeof(message)) == (ssize_t)strlen(message));
	EXPECT(!strcmp(message,
		       "kmarkers: no memory for a copy of the text: the child of fork() ends\n"));
	child = fork();
	if (!child)
		_exit(close(STDERR_FILENO) ? -1 : fork_once_without_memory());
	EXPECT(reap_child(child) == 127);
	return NULL;
}

/* Check that fork() adds no mapping to the parent, and none to the child. */
static const char *fork_adds_no_mapping(void)
{
	int nr;
	pid_t child;

	EXPECT(count_mappings() > 0);
	nr = count_mappings();
	child = fork();
	if (!child)
		_exit(count_mappings() != nr);
	EXPECT(reap_child(child) == 0);
	EXPECT(count_mappings() == nr);
	return NULL;
}

/* If true, the child sends itself a signal before fork() returns. */
static bool send_early;

void __real_native_gate_reset_after_fork(void);
void __wrap_native_gate_reset_after_fork(void);

void __wrap_native_gate_reset_after_fork(void)
{
	if (send_early)
		raise(SIGUSR1);
	__real_native_gate_reset_after_fork();
}

static int seen_early;

static void read_value_in_handler(int sig)
{
	if (write_pipe_byte(to_parent) && read_pipe_byte(to_child))
		seen_early = imv_read(value);
}

/*
 * Change the value in the parent while a signal handler runs in the child, inside fork().  Check
 * that the child still reads the old value.
 */
static const char *fork_lets_signal_handlers_read_old_value(void)
{
	struct sigaction action = { .sa_handler = read_value_in_handler }, before;
	pid_t child;

	EXPECT(open_pipes());
	EXPECT(!change_value(1));
	EXPECT(!sigaction(SIGUSR1, &action, &before));
	send_early = true;
	child = fork();
	send_early = false;
	if (!child)
		_exit(seen_early != 1);
	sigaction(SIGUSR1, &before, NULL);
	close_pipe_end(&to_parent[1]);
	EXPECT(read_pipe_byte(to_parent));
	EXPECT(!change_value(2));
	EXPECT(write_pipe_byte(to_child));
	EXPECT(reap_child(child) == 0);
	return NULL;
}

#define CHANGERS	3
#define CHANGES		200000
#define FORKS		10

static bool stop;
static unsigned int changed, finished;

static void *change_value_often(void *unused)
{
	unsigned int i;

	for (i = 0; i < CHANGES && !READ_ONCE(stop); i++) {
		imv_set(value, i & 0xff);
		__atomic_fetch_add(&changed, 1, __ATOMIC_RELAXED);
	}
	if (i == CHANGES)
		__atomic_fetch_add(&finished, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* Return the number of forks that succeeded before the first thread finished its changes. */
static unsigned int count_successful_forks(void)
{
	unsigned int i, good = 0;

	for (i = 0; i < FORKS; i++) {
		pid_t child = fork();

		if (!child)
			_exit(READ_ONCE(finished));
		good += !reap_child(child);
	}
	return good;
}

/*
 * Check that fork() does not wait until other threads have made all their changes: more than half
 * of the forks must succeed before the first of these threads finishes.
 */
static const char *fork_does_not_wait_for_all_changes(void)
{
	pthread_t threads[CHANGERS];
	unsigned int i, nr, good = 0;

	stop = false;
	changed = finished = 0;
	for (nr = 0; nr < CHANGERS; nr++)
		if (pthread_create(&threads[nr], NULL, change_value_often, NULL))
			break;
	while (nr == CHANGERS && !READ_ONCE(changed))
		;
	if (nr == CHANGERS)
		good = count_successful_forks();
	WRITE_ONCE(stop, true);
	for (i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	EXPECT(nr == CHANGERS);
	EXPECT(good > FORKS / 2);
	return NULL;
}

#define CHECKS	20

/* A mutex of the same kind as the mutex that is held during a batch. */
static struct mutex held = __MUTEX_INITIALIZER(held);
static pid_t forker;
static bool forked;

static void *fork_once(void *unused)
{
	pid_t child;

	WRITE_ONCE(forker, gettid());
	child = fork();
	if (!child)
		_exit(0);
	WRITE_ONCE(forked, true);
	return reap_child(child) ? NULL : &forked;
}

static bool is_thread_sleeping(pid_t thread)
{
	char path[64], state = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", thread);
	file = fopen(path, "r");
	if (!file)
		return false;
	if (fscanf(file, "%*d %*s %c", &state) != 1)
		state = 0;
	fclose(file);
	return state == 'S';
}

/*
 * Check that fork() waits until a mutex is unlocked: the thread that calls fork() must sleep, and
 * must not have forked yet.
 */
static const char *fork_waits_for_mutexes(void)
{
	void *reaped = NULL;
	pthread_t thread;
	int asleep;
	bool early;

	forker = 0;
	forked = false;
	mutex_lock(&held);
	if (pthread_create(&thread, NULL, fork_once, NULL)) {
		mutex_unlock(&held);
		return "cannot create a thread";
	}
	for (asleep = 0; asleep < CHECKS && !READ_ONCE(forked); usleep(1000))
		asleep = is_thread_sleeping(READ_ONCE(forker)) ? asleep + 1 : 0;
	early = READ_ONCE(forked);
	mutex_unlock(&held);
	pthread_join(thread, &reaped);
	EXPECT(!early);
	EXPECT(reaped);
	return NULL;
}

const struct test_case fork_cases[] = {
	{ "fork_waits_for_mutexes", fork_waits_for_mutexes, NULL },
	{ "fork_separates_the_texts", fork_separates_the_texts, close_pipes },
	{ "fork_needs_no_descriptors", fork_needs_no_descriptors, close_pipes },
	{ "fork_without_memory_ends_the_child", fork_without_memory_ends_the_child, close_pipes },
	{ "fork_adds_no_mapping", fork_adds_no_mapping, NULL },
	{ "fork_lets_signal_handlers_read_old_value", fork_lets_signal_handlers_read_old_value,
	  close_pipes },
	{ "fork_does_not_wait_for_all_changes", fork_does_not_wait_for_all_changes, NULL },
};

const unsigned int fork_nr_cases = ARRAY_SIZE(fork_cases);
