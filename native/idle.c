// SPDX-License-Identifier: GPL-2.0-only
/*
 * Choose the CPU on which to measure: the CPU that is idlest while this process sleeps.  If other
 * programs use this CPU later, choose another CPU.  /proc/stat has the busy and idle times of each
 * CPU, which the kernel counts in ticks of 10 ms.
 */
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "idle.h"

/* Time in ms for which the process sleeps before it first chooses a CPU. */
#define PILOT_MS	100
/* Minimum time between two readings of /proc/stat while benchmarks run. */
#define LOOK_SECONDS	1
/*
 * CPUs are equally idle if their shares of idle time differ by less than 20 percentage points: two
 * of the ten ticks in PILOT_MS.  Of equally idle CPUs, the CPU with the highest number is chosen,
 * so that all runs on a quiet machine use the same CPU.
 */
#define EQUAL		20

struct cpu_times {
	unsigned long long idle, all;
};

/* Read the times of all CPUs since the machine was started.  Set the times of absent CPUs to 0. */
static bool read_cpu_times(struct cpu_times *times)
{
	FILE *file = fopen("/proc/stat", "re");
	char line[512];

	memset(times, 0, CPU_SETSIZE * sizeof(*times));
	while (file && fgets(line, sizeof(line), file)) {
		unsigned long long user, nice, system, idle, iowait, irq, softirq, steal = 0;
		unsigned int cpu;

		/* The first line, "cpu  ", has the sums of all CPUs. */
		if (line[3] == ' ' || sscanf(line, "cpu%u %llu %llu %llu %llu %llu %llu %llu %llu", &cpu,
			   &user, &nice, &system, &idle, &iowait, &irq, &softirq, &steal) < 8 ||
		    cpu >= CPU_SETSIZE)
			continue;
		times[cpu].idle = idle + iowait;
		times[cpu].all = user + nice + system + idle + iowait + irq + softirq + steal;
	}
	if (file)
		fclose(file);
	return file;
}

/*
 * Return the share of idle time in percent: 100 for a CPU whose times have not advanced.  Return
 * -EQUAL for a CPU without a line in /proc/stat: such a CPU is offline, and any other CPU must
 * count as idler.
 */
static int compute_idle_percent(const struct cpu_times *before, const struct cpu_times *after)
{
	unsigned long long all = after->all - before->all, idle = after->idle - before->idle;

	if (!after->all)
		return -EQUAL;
	return after->all <= before->all || idle > all ? 100 : idle * 100 / all;
}

/* Return true if /proc/stat has the times of a CPU that the process may use. */
static bool has_times_of_allowed_cpu(const struct cpu_times *times, const cpu_set_t *allowed)
{
	int cpu;

	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, allowed) && times[cpu].all)
			return true;
	return false;
}

int native_find_idlest_cpu(int preferred, char *why, size_t size)
{
	static struct cpu_times before[CPU_SETSIZE], after[CPU_SETSIZE];
	int cpu, most = 0, least = 100, highest = 0, chosen = 0, share[CPU_SETSIZE];
	struct timespec pilot = { .tv_nsec = PILOT_MS * 1000000L };
	cpu_set_t allowed;
	bool known, readable;

	*why = '\0';
	/* sched_getaffinity() fails on machines with more than CPU_SETSIZE CPUs. */
	if (sched_getaffinity(0, sizeof(allowed), &allowed)) {
		snprintf(why, size, "because other CPUs are unknown: %s: --cpu chooses one",
			 strerror(errno));
		return sched_getcpu();
	}
	known = CPU_COUNT(&allowed) > 1 && read_cpu_times(before) && !nanosleep(&pilot, NULL) &&
		read_cpu_times(after);
	readable = known && has_times_of_allowed_cpu(after, &allowed);
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		share[cpu] = readable ? compute_idle_percent(&before[cpu], &after[cpu]) : 100;
		if (CPU_ISSET(cpu, &allowed) && share[cpu] > most)
			most = share[cpu];
	}
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed) && share[cpu] + EQUAL > most)
			chosen = cpu;
	if (preferred >= 0 && CPU_ISSET(preferred, &allowed) && share[preferred] + EQUAL > most)
		chosen = preferred;
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &allowed) || cpu == chosen || share[cpu] < 0)
			continue;
		least = share[cpu] < least ? share[cpu] : least;
		highest = share[cpu] > highest ? share[cpu] : highest;
	}
	if (known)
		snprintf(why, size, "idle for %d %% of %d ms; other CPUs idle for %d to %d %%",
			 share[chosen], PILOT_MS, least, highest);
	return chosen;
}

/* Return the CPU time of this thread in the ticks of /proc/stat. */
static unsigned long long read_thread_cpu_ticks(void)
{
	struct timespec spent = { };

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
	return (spent.tv_sec * 1000 + spent.tv_nsec / 1000000) * sysconf(_SC_CLK_TCK) / 1000;
}

int native_find_quieter_cpu(int current, const cpu_set_t *allowed, char *why, size_t size)
{
	static struct cpu_times before[CPU_SETSIZE], after[CPU_SETSIZE];
	static unsigned long long ticks_before;
	static struct timespec looked;
	int cpu, share, own, most = 0, chosen = current;
	unsigned long long ticks;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (CPU_COUNT(allowed) < 2 || now.tv_sec < looked.tv_sec + LOOK_SECONDS)
		return current;
	if (!read_cpu_times(after))
		return current;
	ticks = read_thread_cpu_ticks();
	/* Count the time of this thread as idle time: only the time of other programs matters. */
	after[current].idle += ticks - ticks_before;
	own = compute_idle_percent(&before[current], &after[current]);
	after[current].idle -= ticks - ticks_before;
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		share = compute_idle_percent(&before[cpu], &after[cpu]);
		if (!CPU_ISSET(cpu, allowed) || cpu == current || share < most)
			continue;
		most = share;
		chosen = cpu;
	}
	if (!looked.tv_sec || most < own + EQUAL)
		chosen = current;
	if (chosen != current && own < 0)
		snprintf(why, size, "which is offline");
	else if (chosen != current)
		snprintf(why, size, "which other programs used for %d %%; CPU %d was %d %% idle",
			 100 - own, chosen, most);
	memcpy(before, after, sizeof(before));
	ticks_before = ticks;
	looked = now;
	return chosen;
}
