// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program whose marker is switched on and off while its threads run.
 *
 * Two threads handle requests as fast as they can.  Meanwhile the main thread connects a probe to
 * the marker in the code of the threads, disconnects the probe, and changes a limit that the
 * threads read as an immediate value.  The program prints one line for each phase; the exit code is
 * 1 if a phase had a wrong result.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include <kmarkers/user.h>

#define WORKERS	2
/* A phase ends after MIN_REQUESTS requests, or after MAX_NAPS sleeps of half a second. */
#define MIN_REQUESTS	10000
#define MAX_NAPS	120

static DEFINE_IMV(int, limit) = 1023;

static struct worker {
	pthread_t thread;
	unsigned long requests;
	unsigned long too_big;
} __aligned(64) workers[WORKERS];

static bool stop;

/* Number of calls of the probe, and the largest request passed to the probe. */
static unsigned long calls;
static int largest;

static void probe(void *probe_private, void *call_private, const char *fmt, va_list *args)
{
	int bytes = va_arg(*args, int);

	__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
	if (bytes > READ_ONCE(largest))
		WRITE_ONCE(largest, bytes);
}

static void handle_request(struct worker *worker, int bytes)
{
	trace_mark(request, "%d", bytes);
	if (imv_above(bytes, limit))
		WRITE_ONCE(worker->too_big, worker->too_big + 1);
	WRITE_ONCE(worker->requests, worker->requests + 1);
}

static void *run_worker(void *data)
{
	unsigned int random = 1;

	while (!READ_ONCE(stop)) {
		random = random * 1103515245 + 12345;
		handle_request(data, random >> 16 & 1023);
	}
	return NULL;
}

static void sum_worker_counters(unsigned long *requests, unsigned long *too_big)
{
	int i;

	*requests = *too_big = 0;
	for (i = 0; i < WORKERS; i++) {
		*requests += READ_ONCE(workers[i].requests);
		*too_big += READ_ONCE(workers[i].too_big);
	}
}

/*
 * Let the workers run for a while, and print their results after @title, the name of the phase.
 * Return true if the results are right: the probe was called if and only if @marker_on is true, and
 * requests exceeded the limit if and only if @limit_low is true.
 */
static bool run_phase(const char *title, bool marker_on, bool limit_low)
{
	const struct timespec half_second = { .tv_nsec = 500000000 };
	unsigned long requests[2], too_big[2], called = READ_ONCE(calls);
	int naps = 0;

	sum_worker_counters(&requests[0], &too_big[0]);
	do {
		nanosleep(&half_second, NULL);
		sum_worker_counters(&requests[1], &too_big[1]);
	} while (requests[1] - requests[0] < MIN_REQUESTS && ++naps < MAX_NAPS);
	called = READ_ONCE(calls) - called;
	requests[1] -= requests[0];
	too_big[1] -= too_big[0];
	printf("%-13s %6.1f million requests a second, %8lu probe calls, %2lu %% of requests exceed the limit\n",
	       title, requests[1] * 2 / 1e6 / (naps + 1), called,
	       too_big[1] * 100 / (requests[1] ?: 1));
	return requests[1] && !called == !marker_on && !too_big[1] == !limit_low;
}

static bool run_all_phases(void)
{
	bool good;

	good = run_phase("marker off:", false, false);
	good &= !marker_probe_register("request", "%d", probe, NULL);
	good &= run_phase("marker on:", true, false);
	kmarkers_list(stdout);
	good &= !marker_probe_unregister("request", probe, NULL);
	marker_synchronize_unregister();
	good &= run_phase("off again:", false, false);
	good &= !imv_set(limit, 511);
	good &= run_phase("limit halved:", false, true);
	return good && largest == 1023;
}

int main(void)
{
	bool good;
	int i;

	if (kmarkers_start())
		return EXIT_FAILURE;
	for (i = 0; i < WORKERS; i++)
		if (pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]))
			return EXIT_FAILURE;
	good = run_all_phases();
	WRITE_ONCE(stop, true);
	for (i = 0; i < WORKERS; i++)
		pthread_join(workers[i].thread, NULL);
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
