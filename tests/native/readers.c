// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests that there is no deadlock if a probe waits for a lock of the program while the thread that
 * holds the lock forks, changes markers, or is cancelled.  Each test runs in a child process with
 * an alarm, since a deadlocked test would hang.
 */
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/kernel.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>

#include <kmarkers/typed.h>
#include <kmarkers/user.h>

#include "process.h"
#include "readers.h"

#define LIMIT_SECONDS	60
/* Number of readers to allocate: more than fit into one mapping. */
#define MOST_READERS	1000

static DEFINE_IMV(int, value) = 1;
static pthread_mutex_t program_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned int entered, second;

DECLARE_MARKER(readers_typed, MARKER_PROTO(int number), MARKER_ARGS(number), "number %d");
DEFINE_MARKER(readers_typed);

static noinline void hit_marker(void)
{
	trace_mark(readers_hit, "%d", 1);
}

static void wait_for_program_lock(void)
{
	__atomic_fetch_add(&entered, 1, __ATOMIC_RELAXED);
	pthread_mutex_lock(&program_lock);
	pthread_mutex_unlock(&program_lock);
}

static void wait_in_probe(void *private, void *call_private, const char *format, va_list *args)
{
	wait_for_program_lock();
}

static void count_in_probe(void *private, void *call_private, const char *format, va_list *args)
{
	__atomic_fetch_add(&second, 1, __ATOMIC_RELAXED);
}

static void wait_in_typed_probe(void *private, int number)
{
	wait_for_program_lock();
}

static void *hit_markers_once(void *unused)
{
	hit_marker();
	mark_typed(readers_typed, 1);
	return NULL;
}

/* Call @run in a child process.  Return what @run returns, or 128 + SIGALRM on a timeout. */
static int run_in_child(int (*run)(void))
{
	pid_t child = fork();

	if (!child) {
		alarm(LIMIT_SECONDS);
		_exit(run());
	}
	return reap_child(child);
}

/* Take the lock, and start a thread whose probe waits for the lock. */
static int start_waiting_reader(pthread_t *thread)
{
	unsigned int before = entered;

	pthread_mutex_lock(&program_lock);
	if (marker_probe_register("readers_hit", "%d", wait_in_probe, NULL) ||
	    pthread_create(thread, NULL, hit_markers_once, NULL))
		return 1;
	while (READ_ONCE(entered) == before)
		sched_yield();
	return 0;
}

/* Make every kind of change of probes and values. */
static int change_probes_and_value(void)
{
	return marker_probe_register("readers_hit", "%d", count_in_probe, NULL) ||
	       marker_probe_unregister("readers_hit", count_in_probe, NULL) ||
	       marker_register_readers_typed(wait_in_typed_probe, NULL) ||
	       marker_register_readers_typed(wait_in_typed_probe, &second) ||
	       marker_unregister_readers_typed(wait_in_typed_probe, &second) ||
	       marker_unregister_readers_typed(wait_in_typed_probe, NULL) ||
	       imv_set(value, imv_read(value) + 1);
}

static void *wait_for_probes(void *unused)
{
	marker_synchronize_unregister();
	return NULL;
}

/*
 * Wait for running probes, then change probes and the value.  Only children of fork() may call this
 * function, because no thread of a child is inside a probe.
 */
static int synchronize_and_change(void)
{
	marker_synchronize_unregister();
	return change_probes_and_value();
}

static int fork_while_probe_waits(void)
{
	pthread_t reader, waiter;

	if (start_waiting_reader(&reader) || pthread_create(&waiter, NULL, wait_for_probes, NULL) ||
	    change_probes_and_value() || run_in_child(synchronize_and_change))
		return 1;
	pthread_mutex_unlock(&program_lock);
	pthread_join(reader, NULL);
	pthread_join(waiter, NULL);
	return marker_probe_unregister("readers_hit", wait_in_probe, NULL);
}

/* Check that changes and fork() return although a probe waits for a lock of the program. */
static const char *readers_fork_while_a_probe_waits(void)
{
	EXPECT(run_in_child(fork_while_probe_waits) == 0);
	return NULL;
}

#define FORKS	20

static bool stop;

static void take_program_lock(void)
{
	pthread_mutex_lock(&program_lock);
}

static void release_program_lock(void)
{
	pthread_mutex_unlock(&program_lock);
}

static void *hit_marker_repeatedly(void *unused)
{
	while (!READ_ONCE(stop)) {
		hit_marker();
		/* Let another thread take program_lock before the next hit. */
		sched_yield();
	}
	return NULL;
}

static void *register_probe_often(void *unused)
{
	while (!READ_ONCE(stop)) {
		marker_probe_register("readers_hit", "%d", wait_in_probe, NULL);
		marker_probe_unregister("readers_hit", wait_in_probe, NULL);
		marker_synchronize_unregister();
	}
	return NULL;
}

static int fork_repeatedly(void)
{
	pthread_t threads[2];
	unsigned int i;

	stop = false;
	pthread_atfork(take_program_lock, release_program_lock, release_program_lock);
	if (pthread_create(&threads[0], NULL, hit_marker_repeatedly, NULL) ||
	    pthread_create(&threads[1], NULL, register_probe_often, NULL))
		return 1;
	for (i = 0; i < FORKS; i++) {
		pid_t child = fork();

		if (!child)
			_exit(marker_probe_register("readers_hit", "%d", count_in_probe, NULL));
		if (reap_child(child))
			return 2;
	}
	WRITE_ONCE(stop, true);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	return 0;
}

/*
 * Check fork() while a probe waits for a lock that handlers of pthread_atfork() also take.  An
 * example is the lock of a log.
 */
static const char *readers_fork_handler_storm(void)
{
	EXPECT(run_in_child(fork_repeatedly) == 0);
	return NULL;
}

/*
 * Request the cancellation of this thread, make changes, and then wait until no thread is inside a
 * probe.
 */
static void *change_after_cancellation_request(void *result)
{
	pthread_cancel(pthread_self());
	*(int *)result = change_probes_and_value();
	marker_synchronize_unregister();
	return NULL;
}

/*
 * Return 0 if this process can change the value, and a child can change the value and the probes.
 */
static int attempt_changes(void)
{
	int before = imv_read(value);

	return imv_set(value, before + 1) || imv_read(value) != before + 1 ||
	       run_in_child(synchronize_and_change);
}

static int cancel_thread_during_change(void)
{
	pthread_t reader, changer;
	int result = -1;
	void *ended;

	if (start_waiting_reader(&reader) ||
	    pthread_create(&changer, NULL, change_after_cancellation_request, &result))
		return 1;
	pthread_join(changer, &ended);
	pthread_mutex_unlock(&program_lock);
	pthread_join(reader, NULL);
	if (result || ended != PTHREAD_CANCELED)
		return 2;
	return attempt_changes() || marker_probe_unregister("readers_hit", wait_in_probe, NULL) ?
		3 : 0;
}

/*
 * Check that a cancelled thread still makes its changes, ends while it waits for probes, and leaves
 * nothing locked.
 */
static const char *readers_complete_a_cancelled_change(void)
{
	EXPECT(run_in_child(cancel_thread_during_change) == 0);
	return NULL;
}

static struct mutex held = __MUTEX_INITIALIZER(held);
static int forked;

static void *fork_once(void *unused)
{
	forked = run_in_child(synchronize_and_change);
	return NULL;
}

/*
 * This function is not inlined, so that its stack frame ends before the thread is cancelled.
 * AddressSanitizer does not notice that a cancelled thread leaves its stack frames.
 */
static noinline int set_value_to_seven(void)
{
	return imv_set(value, 7);
}

static void *set_value_and_wait(void *result)
{
	*(int *)result = set_value_to_seven();
	/* Wait to be cancelled if the value was set before the other thread forks. */
	pause();
	return NULL;
}

static int cancel_change_waiting_for_fork(void)
{
	pthread_t forker, changer;
	int result = -1;
	void *ended;

	mutex_lock(&held);
	if (pthread_create(&forker, NULL, fork_once, NULL))
		return 1;
	usleep(20000);
	if (pthread_create(&changer, NULL, set_value_and_wait, &result))
		return 1;
	usleep(20000);
	pthread_cancel(changer);
	mutex_unlock(&held);
	pthread_join(changer, &ended);
	pthread_join(forker, NULL);
	return result || ended != PTHREAD_CANCELED || forked || attempt_changes() ? 2 : 0;
}

/*
 * Cancel a thread while its change waits for a fork() of another thread.  The fork() waits until
 * the test unlocks a mutex.
 */
static const char *readers_cancel_a_change_waiting_for_fork(void)
{
	EXPECT(run_in_child(cancel_change_waiting_for_fork) == 0);
	return NULL;
}

static void exit_thread_in_probe(void *private, void *call_private, const char *format,
				 va_list *args)
{
	pthread_exit(NULL);
}

static int exit_in_probe(void)
{
	pthread_t thread;
	int err = marker_probe_register("readers_hit", "%d", exit_thread_in_probe, NULL) ||
		  pthread_create(&thread, NULL, hit_markers_once, NULL);

	if (err)
		return err;
	pthread_join(thread, NULL);
	err = marker_probe_unregister("readers_hit", exit_thread_in_probe, NULL);
	marker_synchronize_unregister();
	return err;
}

/* Check that a thread that ended inside a probe does not delay marker_synchronize_unregister(). */
static const char *readers_end_with_their_threads(void)
{
	EXPECT(run_in_child(exit_in_probe) == 0);
	return NULL;
}

static void *list_markers_to_file(void *file)
{
	kmarkers_list(file);
	return NULL;
}

/* Register a probe whose format differs from the marker's.  The mismatch is reported on stderr. */
static void *report_mismatch(void *unused)
{
	if (!marker_probe_register("readers_hit", "%s", count_in_probe, NULL))
		marker_probe_unregister("readers_hit", count_in_probe, NULL);
	return NULL;
}

static int change_with_locked_streams(void)
{
	pthread_t lister, talker;
	FILE *file = tmpfile();
	int err;

	if (!file)
		return 1;
	flockfile(file);
	flockfile(stderr);
	if (pthread_create(&lister, NULL, list_markers_to_file, file) ||
	    pthread_create(&talker, NULL, report_mismatch, NULL))
		return 1;
	pthread_join(talker, NULL);
	usleep(20000);
	err = attempt_changes();
	funlockfile(stderr);
	funlockfile(file);
	pthread_join(lister, NULL);
	return err || ftell(file) <= 0;
}

/* Check that the library holds none of its locks while it waits for the lock of a stdio stream. */
static const char *readers_change_with_locked_streams(void)
{
	EXPECT(run_in_child(change_with_locked_streams) == 0);
	return NULL;
}

/*
 * Check that a grace period can make the threads of a process execute a barrier by membarrier(2),
 * even if the process has not registered for the command of membarrier(2) before.
 */
static const char *readers_execute_barriers(void)
{
	synchronize_rcu();
	EXPECT(syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0);
	return NULL;
}

#define OBJECTS		12
/* A size for which free() always unmaps the object, whatever other objects were freed before. */
#define OBJECT_BYTES	(64UL << 20)
#define PAGE_BYTES	4096UL

static void *objects[OBJECTS];
static struct rcu_head heads[OBJECTS];

/*
 * Allocate an object, and free it after a grace period.  Return a mask of the objects that are
 * not freed.
 */
static unsigned int free_object_later(unsigned int number)
{
	unsigned int i, left = 0;
	unsigned char resident;

	objects[number] = malloc(OBJECT_BYTES);
	if (!objects[number])
		return ~0U;
	native_rcu_defer_free(&heads[number], objects[number]);
	for (i = 0; i <= number; i++) {
		void *page = (void *)((unsigned long)objects[i] & ~(PAGE_BYTES - 1));

		/* Later objects may get the address of a freed object. */
		if (objects[i] && mincore(page, PAGE_BYTES, &resident))
			objects[i] = NULL;
		left |= !!objects[i] << i;
	}
	return left;
}

static pthread_barrier_t section;

static void *stay_in_read_section(void *unused)
{
	rcu_read_lock();
	pthread_barrier_wait(&section);
	pthread_barrier_wait(&section);
	rcu_read_unlock();
	return NULL;
}

/*
 * Free three objects, numbered from @number: the first while only the older of two readers is in a
 * section, the second while both readers are in sections, the third while no reader is in a
 * section.  This thread is the older reader if @is_older is true.
 */
static void free_objects_of_two_readers(unsigned int number, bool is_older, unsigned int *left)
{
	pthread_t reader;

	pthread_barrier_init(&section, NULL, 2);
	if (is_older) {
		rcu_read_lock();
		left[number] = free_object_later(number);
	}
	pthread_create(&reader, NULL, stay_in_read_section, NULL);
	pthread_barrier_wait(&section);
	if (!is_older) {
		left[number] = free_object_later(number);
		rcu_read_lock();
	}
	left[number + 1] = free_object_later(number + 1);
	rcu_read_unlock();
	pthread_barrier_wait(&section);
	pthread_join(reader, NULL);
	left[number + 2] = free_object_later(number + 2);
	pthread_barrier_destroy(&section);
}

/*
 * Check that each object is freed by the first call of free_object_later() after the object's grace
 * period.  Without a reader the object is freed at once, otherwise together with all other objects
 * that no reader uses.
 */
static const char *readers_delay_the_freeing_of_objects(void)
{
	unsigned int left[OBJECTS], i;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return "SKIP a sanitizer keeps freed memory";
#endif
	for (i = 0; i < 2; i++)
		left[i] = free_object_later(i);
	rcu_read_lock();
	left[2] = free_object_later(2);
	rcu_read_unlock();
	rcu_read_lock();
	left[3] = free_object_later(3);
	left[4] = free_object_later(4);
	rcu_read_unlock();
	left[5] = free_object_later(5);
	free_objects_of_two_readers(6, false, left);
	free_objects_of_two_readers(9, true, left);
	EXPECT(!left[0] && !left[1]);
	EXPECT(left[2] == 1 << 2);
	EXPECT(left[3] == 1 << 3);
	EXPECT(left[4] == (1 << 3 | 1 << 4));
	EXPECT(!left[5]);
	for (i = 6; i < OBJECTS; i += 3)
		EXPECT(left[i] == 1U << i && left[i + 1] == 3U << i && !left[i + 2]);
	return NULL;
}

/* Take readers until no memory can be mapped for another reader, which aborts the program. */
static int take_readers_without_memory(void)
{
	const struct rlimit none = { 0 };
	unsigned int i;

	if (setrlimit(RLIMIT_CORE, &none) || setrlimit(RLIMIT_AS, &none))
		return 1;
	for (i = 0; i < MOST_READERS; i++) {
		kmarkers_rcu_reader = NULL;
		kmarkers_rcu_alloc_reader();
	}
	return 2;
}

/* Check that a thread without memory for its reader aborts the program, with a message on stderr. */
static const char *readers_without_memory_abort_the_program(void)
{
	char message[256] = "";
	int ends[2];
	pid_t child;

	EXPECT(!pipe(ends));
	child = fork();
	if (!child)
		_exit(dup2(ends[1], STDERR_FILENO) < 0 ? 3 : take_readers_without_memory());
	close(ends[1]);
	EXPECT(reap_child(child) == 128 + SIGABRT);
	EXPECT(read(ends[0], message, sizeof(message)) == (ssize_t)strlen(message));
	close(ends[0]);
	EXPECT(!strcmp(message,
		       "kmarkers: no memory for the RCU state of a thread: the program is aborted\n"));
	child = fork();
	if (!child)
		_exit(close(STDERR_FILENO) ? 3 : take_readers_without_memory());
	EXPECT(reap_child(child) == 128 + SIGABRT);
	return NULL;
}

const struct test_case reader_cases[] = {
	{ "readers_fork_while_a_probe_waits", readers_fork_while_a_probe_waits, NULL },
	{ "readers_fork_handler_storm", readers_fork_handler_storm, NULL },
	{ "readers_complete_a_cancelled_change", readers_complete_a_cancelled_change, NULL },
	{ "readers_cancel_a_change_waiting_for_fork", readers_cancel_a_change_waiting_for_fork,
	  NULL },
	{ "readers_end_with_their_threads", readers_end_with_their_threads, NULL },
	{ "readers_change_with_locked_streams", readers_change_with_locked_streams, NULL },
	{ "readers_without_memory_abort_the_program", readers_without_memory_abort_the_program,
	  NULL },
	{ "readers_execute_barriers", readers_execute_barriers, NULL },
	{ "readers_delay_the_freeing_of_objects", readers_delay_the_freeing_of_objects, NULL },
};

const unsigned int reader_nr_cases = ARRAY_SIZE(reader_cases);
