// SPDX-License-Identifier: GPL-2.0-only
/* The observer thread as a POSIX thread: implements observer_thread.h. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include <linux/compiler.h>

#include "../bench_modules/observer.h"
#include "../bench_modules/observer_thread.h"
#include "observer.h"

static pthread_t thread;
static bool stop, running;

/*
 * Main function of the thread, which measures gaps: times between two readings of the clock.  A
 * program cannot count the interrupts of a CPU, so gaps caused by interrupts are recorded, too.
 * The variant idle-stall, in which no site is switched, shows how long the gaps caused by
 * interrupts are.
 */
static void *read_clock_repeatedly(void *unused)
{
	struct bench_watch watch;

	bench_watch_init(&watch, 0);
	while (!READ_ONCE(stop)) {
		bench_watch_read_clock(&watch);
		bench_watch_record_gap(&watch, 0);
	}
	return NULL;
}

static cpu_set_t allowed;

/* Store the set of CPUs that the process may use, before it is pinned to one of them. */
static __attribute__((constructor)) void read_allowed_cpus(void)
{
	sched_getaffinity(0, sizeof(allowed), &allowed);
}

const cpu_set_t *native_get_allowed_cpus(void)
{
	return &allowed;
}

static int find_cpu_for_observer(void)
{
	cpu_set_t here;
	int cpu;

	sched_getaffinity(0, sizeof(here), &here);
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed) && !CPU_ISSET(cpu, &here))
			return cpu;
	return -ENODEV;
}

/* Start the thread.  @realtime is ignored: a program may lack the privilege to set priorities. */
int bench_observer_start(bool realtime)
{
	int cpu = find_cpu_for_observer(), err;
	pthread_attr_t attr;
	cpu_set_t set = { };

	if (cpu < 0)
		return cpu;
	CPU_SET(cpu, &set);
	stop = false;
	pthread_attr_init(&attr);
	pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
	err = pthread_create(&thread, &attr, read_clock_repeatedly, NULL);
	pthread_attr_destroy(&attr);
	running = !err;
	return -err;
}

void bench_observer_stop(void)
{
	WRITE_ONCE(stop, true);
	pthread_join(thread, NULL);
	running = false;
}

bool native_observer_is_running(void)
{
	return running;
}
