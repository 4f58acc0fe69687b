// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probes that wait for a lock of the program while the lock is held by a thread that forks,
 * changes markers, or is cancelled.  Code that could wait for ever runs in a child with an alarm.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <linux/kernel.h>
#include <linux/mutex.h>

#include <kmarkers/typed.h>
#include <kmarkers/user.h>

#include "process.h"
#include "readers.h"

#define LIMIT_SECONDS	60

static DEFINE_IMV(int, value) = 1;
static pthread_mutex_t program_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned int entered, second;

DECLARE_MARKER(readers_typed, MARKER_PROTO(int number), MARKER_ARGS(number), "number %d");
DEFINE_MARKER(readers_typed);

static noinline void hit(void)
{
	trace_mark(readers_hit, "%d", 1);
}

static void wait_for_lock(void)
{
	__atomic_fetch_add(&entered, 1, __ATOMIC_RELAXED);
	pthread_mutex_lock(&program_lock);
	pthread_mutex_unlock(&program_lock);
}

static void waiting(void *private, void *call_private, const char *format, va_list *args)
{
	wait_for_lock();
}

static void counting(void *private, void *call_private, const char *format, va_list *args)
{
	__atomic_fetch_add(&second, 1, __ATOMIC_RELAXED);
}

static void waiting_typed(void *private, int number)
{
	wait_for_lock();
}

static void *hit_once(void *unused)
{
	hit();
	mark_typed(readers_typed, 1);
	return NULL;
}

/* Run a function in a child.  Return its result, or 128 + SIGALRM if it does not end. */
static int in_child(int (*run)(void))
{
	pid_t child = fork();

	if (!child) {
		alarm(LIMIT_SECONDS);
		_exit(run());
	}
	return process_reap(child);
}

/* Take the lock, and start a thread that is inside a probe until the lock is released. */
static int start_reader(pthread_t *thread)
{
	unsigned int before = entered;

	pthread_mutex_lock(&program_lock);
	if (marker_probe_register("readers_hit", "%d", waiting, NULL) ||
	    pthread_create(thread, NULL, hit_once, NULL))
		return 1;
	while (READ_ONCE(entered) == before)
		sched_yield();
	return 0;
}

/* Make every kind of change of probes and values, while an older reader is inside a probe. */
static int change_all(void)
{
	return marker_probe_register("readers_hit", "%d", counting, NULL) ||
	       marker_probe_unregister("readers_hit", counting, NULL) ||
	       marker_register_readers_typed(waiting_typed, NULL) ||
	       marker_register_readers_typed(waiting_typed, &second) ||
	       marker_unregister_readers_typed(waiting_typed, &second) ||
	       marker_unregister_readers_typed(waiting_typed, NULL) ||
	       imv_set(value, imv_read(value) + 1);
}

static void *synchronize(void *unused)
{
	marker_synchronize_unregister();
	return NULL;
}

/* Use all functions in the child of fork(), where no thread is inside a probe. */
static int use_all(void)
{
	marker_synchronize_unregister();
	return change_all();
}

static int fork_with_lock(void)
{
	pthread_t reader, waiter;

	if (start_reader(&reader) || pthread_create(&waiter, NULL, synchronize, NULL) ||
	    change_all() || in_child(use_all))
		return 1;
	pthread_mutex_unlock(&program_lock);
	pthread_join(reader, NULL);
	pthread_join(waiter, NULL);
	return marker_probe_unregister("readers_hit", waiting, NULL);
}

/* Changes and forks wait for no probe that waits for a lock, which is held meanwhile. */
static const char *fork_with_own_lock(void)
{
	EXPECT(in_child(fork_with_lock) == 0);
	return NULL;
}

#define FORKS	20

static bool stop;

static void take_lock(void)
{
	pthread_mutex_lock(&program_lock);
}

static void leave_lock(void)
{
	pthread_mutex_unlock(&program_lock);
}

static void *hit_often(void *unused)
{
	while (!READ_ONCE(stop)) {
		hit();
		/* A thread that releases a lock and retakes it at once would starve the others. */
		sched_yield();
	}
	return NULL;
}

static void *connect_often(void *unused)
{
	while (!READ_ONCE(stop)) {
		marker_probe_register("readers_hit", "%d", waiting, NULL);
		marker_probe_unregister("readers_hit", waiting, NULL);
		marker_synchronize_unregister();
	}
	return NULL;
}

static int fork_often(void)
{
	pthread_t threads[2];
	unsigned int i;

	stop = false;
	pthread_atfork(take_lock, leave_lock, leave_lock);
	if (pthread_create(&threads[0], NULL, hit_often, NULL) ||
	    pthread_create(&threads[1], NULL, connect_often, NULL))
		return 1;
	for (i = 0; i < FORKS; i++) {
		pid_t child = fork();

		if (!child)
			_exit(marker_probe_register("readers_hit", "%d", counting, NULL));
		if (process_reap(child))
			return 2;
	}
	WRITE_ONCE(stop, true);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	return 0;
}

/* A probe logs under a lock that a handler of pthread_atfork() takes, as is usual. */
static const char *fork_handler_storm(void)
{
	EXPECT(in_child(fork_often) == 0);
	return NULL;
}

/* A thread that is to be cancelled, beside a reader, makes a change and then waits. */
static void *change_cancelled(void *result)
{
	pthread_cancel(pthread_self());
	*(int *)result = change_all();
	marker_synchronize_unregister();
	return NULL;
}

static int is_usable(void)
{
	int before = imv_read(value);

	return imv_set(value, before + 1) || imv_read(value) != before + 1 || in_child(use_all);
}

static int cancel_a_change(void)
{
	pthread_t reader, changer;
	int result = -1;
	void *ended;

	if (start_reader(&reader) || pthread_create(&changer, NULL, change_cancelled, &result))
		return 1;
	pthread_join(changer, &ended);
	pthread_mutex_unlock(&program_lock);
	pthread_join(reader, NULL);
	if (result || ended != PTHREAD_CANCELED)
		return 2;
	return is_usable() || marker_probe_unregister("readers_hit", waiting, NULL) ? 3 : 0;
}

/* A cancelled thread makes its change, ends in the next wait and leaves nothing locked. */
static const char *cancelled_change(void)
{
	EXPECT(in_child(cancel_a_change) == 0);
	return NULL;
}

static struct mutex held = __MUTEX_INITIALIZER(held);
static int forked;

static void *fork_once(void *unused)
{
	forked = in_child(use_all);
	return NULL;
}

/* Not inlined, since AddressSanitizer does not see which frames a cancelled thread has left. */
static noinline int set_seven(void)
{
	return imv_set(value, 7);
}

static void *set_value(void *result)
{
	*(int *)result = set_seven();
	pthread_testcancel();
	return NULL;
}

static int cancel_at_the_gate(void)
{
	pthread_t forker, changer;
	int result = -1;
	void *ended;

	mutex_lock(&held);
	if (pthread_create(&forker, NULL, fork_once, NULL))
		return 1;
	usleep(20000);
	if (pthread_create(&changer, NULL, set_value, &result))
		return 1;
	usleep(20000);
	pthread_cancel(changer);
	mutex_unlock(&held);
	pthread_join(changer, &ended);
	pthread_join(forker, NULL);
	return result || ended != PTHREAD_CANCELED || forked || is_usable() ? 2 : 0;
}

/* The same while a change waits for a fork that waits for another change. */
static const char *cancelled_at_the_gate(void)
{
	EXPECT(in_child(cancel_at_the_gate) == 0);
	return NULL;
}

static void ending(void *private, void *call_private, const char *format, va_list *args)
{
	pthread_exit(NULL);
}

static int end_in_probe(void)
{
	pthread_t thread;
	int err = marker_probe_register("readers_hit", "%d", ending, NULL) ||
		  pthread_create(&thread, NULL, hit_once, NULL);

	if (err)
		return err;
	pthread_join(thread, NULL);
	err = marker_probe_unregister("readers_hit", ending, NULL);
	marker_synchronize_unregister();
	return err;
}

/* A thread that ends inside a probe, as one that is cancelled there, is waited for no longer. */
static const char *ended_in_probe(void)
{
	EXPECT(in_child(end_in_probe) == 0);
	return NULL;
}

static void *list_markers(void *file)
{
	kmarkers_list(file);
	return NULL;
}

/* Register a probe whose format does not fit, which is reported on stderr. */
static void *mismatch(void *unused)
{
	if (!marker_probe_register("readers_hit", "%s", counting, NULL))
		marker_probe_unregister("readers_hit", counting, NULL);
	return NULL;
}

static int hold_streams(void)
{
	pthread_t lister, talker;
	FILE *file = tmpfile();
	int err;

	if (!file)
		return 1;
	flockfile(file);
	flockfile(stderr);
	if (pthread_create(&lister, NULL, list_markers, file) ||
	    pthread_create(&talker, NULL, mismatch, NULL))
		return 1;
	pthread_join(talker, NULL);
	usleep(20000);
	err = is_usable();
	funlockfile(stderr);
	funlockfile(file);
	pthread_join(lister, NULL);
	return err || ftell(file) <= 0;
}

/* No lock of the library is held while a stream's lock is waited for. */
static const char *streams_are_locked(void)
{
	EXPECT(in_child(hold_streams) == 0);
	return NULL;
}

const struct test_case reader_cases[] = {
	{ "readers_fork_with_own_lock", fork_with_own_lock, NULL },
	{ "readers_fork_handler_storm", fork_handler_storm, NULL },
	{ "readers_cancelled_change", cancelled_change, NULL },
	{ "readers_cancelled_at_the_gate", cancelled_at_the_gate, NULL },
	{ "readers_end_in_probe", ended_in_probe, NULL },
	{ "readers_hold_streams", streams_are_locked, NULL },
};

const unsigned int reader_nr_cases = ARRAY_SIZE(reader_cases);
