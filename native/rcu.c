// SPDX-License-Identifier: GPL-2.0-only
/*
 * RCU for the threads of a program.
 *
 * A thread holds no lock of kmarkers while it waits for readers, and readers take no such lock.
 * The reason: a reader may be a probe that waits for a lock of the program.  The thread that holds
 * this lock may be in fork(), which waits until no thread holds a lock of kmarkers.
 *
 * At the beginning of its outermost read-side section, a reader stores the number of the current
 * period.  Outside of sections its nesting depth is 0.  A writer first unpublishes an object, then
 * begins a new period and makes every CPU execute a barrier.  A reader that has found the object
 * began its section before that barrier, in an older period, and the writer finds that period in
 * the reader's state.  Any other reader loads the pointer after the barrier, and does not find the
 * object.
 */
#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <linux/kernel.h>
#include <linux/mutex.h>
#include <linux/processor.h>
#include <linux/rcupdate.h>

#include "rcu.h"

#define CHUNK_BYTES	4096
#define LINE_BYTES	64
#define SPINS		1000

#define FOR_EACH_READER(reader, chunk)					\
	for (chunk = &first; chunk; chunk = smp_load_acquire(&(chunk)->next)) \
		for (reader = (chunk)->readers;				\
		     reader < (chunk)->readers + ARRAY_SIZE((chunk)->readers); reader++)

/*
 * A reader, on its own cache line: the period and the nesting depth of the thread to which the
 * reader belongs, and an in-use flag.
 */
struct reader {
	unsigned long inside;
	bool taken;
} __aligned(LINE_BYTES);

/*
 * An array of readers.  Chunks are never freed: a writer may read the state of a reader after the
 * thread of the reader has ended.
 */
struct chunk {
	struct chunk *next;
	struct reader readers[CHUNK_BYTES / LINE_BYTES - 1];
};

static struct chunk first;
static pthread_key_t at_exit;

__thread unsigned long *kmarkers_rcu_reader;
unsigned long kmarkers_rcu_period = KMARKERS_RCU_DEPTH + 1;

#ifdef __SANITIZE_THREAD__
unsigned long native_rcu_order;
#define ACQUIRE_ORDER()	((void)__atomic_load_n(&native_rcu_order, __ATOMIC_ACQUIRE))
#else
#define ACQUIRE_ORDER()	((void)0)
#endif

static bool try_take_reader(struct reader *reader)
{
	bool taken = false;

	return !__atomic_load_n(&reader->taken, __ATOMIC_RELAXED) &&
	       __atomic_compare_exchange_n(&reader->taken, &taken, true, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

/* Release a reader.  Store depth 0 before the in-use flag, so that the next owner finds depth 0. */
static void mark_reader_free(struct reader *reader)
{
	NATIVE_RCU_RELEASE();
	smp_store_release(&reader->inside, 0);
	smp_store_release(&reader->taken, false);
}

/*
 * Add a chunk, and take its first reader.  This function may run in a signal handler, so do not use
 * malloc().
 */
static struct reader *take_new_reader(void)
{
	struct chunk *chunk = mmap(NULL, sizeof(*chunk), PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static const char no_memory[] =
		"kmarkers: no memory for the RCU state of a thread: the program is aborted\n";

	if (chunk == MAP_FAILED) {
		syscall(SYS_write, STDERR_FILENO, no_memory, sizeof(no_memory) - 1);
		abort();
	}
	chunk->readers[0].taken = true;
	chunk->next = __atomic_load_n(&first.next, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&first.next, &chunk->next, chunk, false,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
	return &chunk->readers[0];
}

static struct reader *take_free_reader(void)
{
	struct reader *reader;
	struct chunk *chunk;

	FOR_EACH_READER(reader, chunk)
		if (try_take_reader(reader))
			return reader;
	return take_new_reader();
}

/*
 * Allocate the calling thread's reader at its first read-side section.  The function may run in a
 * signal handler, or be interrupted by a signal handler that allocates the reader first.
 */
unsigned long *kmarkers_rcu_alloc_reader(void)
{
	int before = errno;
	struct reader *reader = take_free_reader();
	unsigned long *none = NULL;

	if (__atomic_compare_exchange_n(&kmarkers_rcu_reader, &none, &reader->inside, false,
					__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		pthread_setspecific(at_exit, reader);
	else
		mark_reader_free(reader);
	errno = before;
	return kmarkers_rcu_reader;
}

/*
 * Release the reader of an ending thread.  If the thread enters a section later, it gets a new
 * reader.
 */
static void release_thread_reader(void *reader)
{
	kmarkers_rcu_reader = NULL;
	mark_reader_free(reader);
}

int native_rcu_register_thread_exit(void)
{
	return pthread_key_create(&at_exit, release_thread_reader);
}

void native_rcu_drop_parent_readers(void)
{
	struct reader *reader;
	struct chunk *chunk;

	FOR_EACH_READER(reader, chunk)
		if (&reader->inside != kmarkers_rcu_reader)
			mark_reader_free(reader);
}

/*
 * Make every running thread execute a barrier by membarrier(2).  Return false if membarrier(2) is
 * denied or does not exist.
 */
static bool issue_membarrier(void)
{
	if (!syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0))
		return true;
	return !syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) &&
	       !syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

/*
 * Begin a new period, and return its number.  Objects that were unpublished before can be freed
 * when no reader is in an older period.
 */
unsigned long native_rcu_begin_period(void)
{
	return __atomic_add_fetch(&kmarkers_rcu_period, KMARKERS_RCU_DEPTH + 1, __ATOMIC_SEQ_CST);
}

/*
 * Return the oldest period in which the read-side section of a reader began; ~0UL if no reader is
 * in a section.  Call this after issue_membarrier().
 */
static unsigned long find_oldest_reader_period(void)
{
	unsigned long inside, oldest = ~0UL;
	struct reader *reader;
	struct chunk *chunk;

	FOR_EACH_READER(reader, chunk) {
		inside = smp_load_acquire(&reader->inside);
		if (inside & KMARKERS_RCU_DEPTH && (inside & ~KMARKERS_RCU_DEPTH) < oldest)
			oldest = inside & ~KMARKERS_RCU_DEPTH;
	}
	ACQUIRE_ORDER();
	return oldest;
}

/* Sleep for @ms milliseconds.  Unlike nanosleep(), this function is no cancellation point. */
static void sleep_ms(unsigned int ms)
{
	const struct timespec time = { .tv_nsec = ms * 1000000L };

	syscall(SYS_nanosleep, &time, NULL);
}

/* Spin for a limited time.  Return true if all readers of periods before @period have ended. */
static bool spin_for_older_readers(unsigned long period)
{
	unsigned int spins;

	for (spins = 0; spins < SPINS; spins++) {
		if (find_oldest_reader_period() >= period)
			return true;
		cpu_relax();
	}
	return false;
}

/*
 * Make every running thread execute a barrier, then spin for a limited time.  Return true if all
 * readers of periods before @period have ended; false if a reader has not, or if membarrier(2) is
 * not available.
 */
bool native_rcu_poll_period_end(unsigned long period)
{
	return issue_membarrier() && spin_for_older_readers(period);
}

/*
 * Wait for a grace period.  Without membarrier(2), sleep for 20 ms first: then the earlier stores
 * of all threads are visible, because a CPU drains its store buffer at every interrupt.
 */
void native_rcu_synchronize(void)
{
	unsigned long period = native_rcu_begin_period();

	if (!issue_membarrier())
		sleep_ms(20);
	while (!spin_for_older_readers(period))
		sleep_ms(1);
}

/* Queue of objects that will be freed after a grace period.  The oldest object is the first. */
static struct {
	struct mutex lock;
	struct rcu_head *first, **end;
} freed = {
	.lock = __MUTEX_INITIALIZER(freed.lock),
	.end = &freed.first,
};

void native_rcu_defer_free(struct rcu_head *head, void *object)
{
	unsigned long oldest;

	mutex_lock(&freed.lock);
	*head = (struct rcu_head){ .object = object, .state = native_rcu_begin_period() };
	*freed.end = head;
	freed.end = &head->next;
	oldest = issue_membarrier() ? find_oldest_reader_period() : 0;
	while (freed.first && freed.first->state <= oldest) {
		head = freed.first;
		freed.first = head->next;
		if (!freed.first)
			freed.end = &freed.first;
		free(head->object);
	}
	mutex_unlock(&freed.lock);
}
