// SPDX-License-Identifier: GPL-2.0-only
/* The bystander as a thread of the program, and the sites that are linked in. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include <linux/compiler.h>

#include "../bench_modules/bystander.h"
#include "../bench_modules/groups.h"
#include "../bench_modules/sites.h"

static pthread_t thread;
static bool stop;

bool bystander_should_stop(void)
{
	return READ_ONCE(stop);
}

/* Not known here: what else the CPU does belongs to the gaps, and idle shows it. */
unsigned int bystander_timer_irqs(void)
{
	return 0;
}

void bystander_yield(void)
{
}

static void *run(void *unused)
{
	bystander_loop();
	return NULL;
}

static cpu_set_t allowed;

/* The process will be pinned to one CPU; by whom it was started may have confined it. */
static __attribute__((constructor)) void ask_what_is_allowed(void)
{
	sched_getaffinity(0, sizeof(allowed), &allowed);
}

static int another_cpu(void)
{
	cpu_set_t here;
	int cpu;

	sched_getaffinity(0, sizeof(here), &here);
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed) && !CPU_ISSET(cpu, &here))
			return cpu;
	return -ENODEV;
}

/* @first is for those who may set priorities. */
int bystander_start(bool first)
{
	int cpu = another_cpu(), err;
	pthread_attr_t attr;
	cpu_set_t set;

	if (cpu < 0)
		return cpu;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	stop = false;
	pthread_attr_init(&attr);
	pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
	err = pthread_create(&thread, &attr, run, NULL);
	pthread_attr_destroy(&attr);
	return -err;
}

void bystander_stop(void)
{
	WRITE_ONCE(stop, true);
	pthread_join(thread, NULL);
}

const struct bench_sites *bench_get_sites(void)
{
	return &bench_sites;
}

void bench_put_sites(void)
{
}

/* A program has neither static keys nor stop_machine(). */
int sites_peers_set(enum sites_way way, u32 nr, bool on)
{
	return -EINVAL;
}

void sites_peers_put_back(void)
{
}

int sites_stop_and_write(struct sites_stores *stores)
{
	return -EINVAL;
}
