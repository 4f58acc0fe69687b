// SPDX-License-Identifier: GPL-2.0-only
/* Threads of the stress tests: one on each CPU that the process may use. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include <linux/compiler.h>

#include "../common/test.h"

#define MAX_THREADS	64

static struct thread {
	pthread_t id;
	unsigned long passes;
} threads[MAX_THREADS];

static unsigned int nr_threads;
static bool stop;
static void (*pass_function)(void);

static void *call_pass_repeatedly(void *data)
{
	struct thread *thread = data;

	while (!READ_ONCE(stop)) {
		pass_function();
		WRITE_ONCE(thread->passes, thread->passes + 1);
	}
	return NULL;
}

static int start_thread_on_cpu(unsigned int cpu)
{
	pthread_attr_t attr;
	cpu_set_t set;
	int err;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	pthread_attr_init(&attr);
	pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
	threads[nr_threads].passes = 0;
	err = pthread_create(&threads[nr_threads].id, &attr, call_pass_repeatedly,
			     &threads[nr_threads]);
	pthread_attr_destroy(&attr);
	nr_threads += !err;
	return -err;
}

int test_start_threads(void (*pass)(void))
{
	unsigned int cpu, i;
	cpu_set_t allowed;
	int err = 0;

	pass_function = pass;
	stop = false;
	nr_threads = 0;
	sched_getaffinity(0, sizeof(allowed), &allowed);
	for (cpu = 0; cpu < CPU_SETSIZE && nr_threads < MAX_THREADS && !err; cpu++)
		if (CPU_ISSET(cpu, &allowed))
			err = start_thread_on_cpu(cpu);
	for (i = 0; i < nr_threads && !err; i++)
		while (!READ_ONCE(threads[i].passes))
			sched_yield();
	if (err)
		test_stop_threads();
	return err;
}

unsigned long test_stop_threads(void)
{
	unsigned long sum = 0;
	bool idle = false;
	unsigned int i;

	WRITE_ONCE(stop, true);
	for (i = 0; i < nr_threads; i++) {
		pthread_join(threads[i].id, NULL);
		sum += threads[i].passes;
		idle |= !threads[i].passes;
	}
	return idle ? 0 : sum;
}

void test_wait_until_threads_passed(void)
{
	unsigned long before;
	unsigned int i;

	for (i = 0; i < nr_threads; i++) {
		before = READ_ONCE(threads[i].passes);
		while (READ_ONCE(threads[i].passes) == before)
			sched_yield();
	}
}

bool test_has_one_cpu(void)
{
	return false;
}

bool test_can_wait_for_tasks(void)
{
	return false;
}
