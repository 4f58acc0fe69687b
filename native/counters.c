// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hardware performance counters (perf_event_open(2)).  Events are counted after the timed windows,
 * in separate windows, so that the counters do not change the measured times.  One counter counts
 * at a time.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/kernel.h>

#include "../bench_modules/loops.h"
#include "counters.h"
#include "output.h"

#define CACHE(cache)	(PERF_COUNT_HW_CACHE_##cache | PERF_COUNT_HW_CACHE_OP_READ << 8 | \
			 PERF_COUNT_HW_CACHE_RESULT_MISS << 16)

static const struct native_counter counters[] = {
	{ "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	{ "branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES },
	{ "l1i-misses", PERF_TYPE_HW_CACHE, CACHE(L1I) },
	{ "l1d-misses", PERF_TYPE_HW_CACHE, CACHE(L1D) },
	/* L2 misses on AMD processors, last-level misses on Intel processors. */
	{ "cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },
	{ "itlb-misses", PERF_TYPE_HW_CACHE, CACHE(ITLB) },
	{ "dtlb-misses", PERF_TYPE_HW_CACHE, CACHE(DTLB) },
	{ "front-end-stalls", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND },
};

static int fds[ARRAY_SIZE(counters)];
static FILE *file;

int native_open_perf_counter(const struct native_counter *counter)
{
	struct perf_event_attr attr = {
		.type = counter->type,
		.size = sizeof(attr),
		.config = counter->config,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Open all counters, and report unavailable ones.  Return false if no counter is available. */
static bool open_perf_counters(void)
{
	unsigned int i, nr = 0;
	int why = 0;

	for (i = 0; i < ARRAY_SIZE(counters); i++) {
		fds[i] = native_open_perf_counter(&counters[i]);
		nr += fds[i] >= 0;
		why = fds[i] < 0 ? errno : why;
	}
	if (!nr)
		fprintf(stderr, "kmbench: SKIP counters: %s\n",
			why == ENOENT || why == EOPNOTSUPP ?
			"this machine has no hardware counters" : why == EACCES || why == EPERM ?
			"no permission for perf events: reduce kernel.perf_event_paranoid" :
			strerror(why));
	for (i = 0; nr && i < ARRAY_SIZE(counters); i++)
		if (fds[i] < 0)
			fprintf(stderr, "kmbench: SKIP counter %s: not available on this processor\n",
				counters[i].name);
	return nr;
}

int native_counters_open(const char *dir)
{
	if (!dir || !open_perf_counters())
		return 0;
	file = native_create_output_file(dir, "counters", "");
	if (!file)
		return -EIO;
	fputs("benchmark,variant,counter,per_pass,share\n", file);
	return 0;
}

double native_scale_perf_count(const struct native_count *count)
{
	if (!count->running || count->running > count->enabled)
		return NAN;
	return (double)count->value * count->enabled / count->running;
}

/*
 * Return the number of events in a window, or NAN.  If the counter ran for less than the share
 * @running_share (0 to 1) of the window, set @running_share to the actual share.
 */
static double count_events(int fd, bench_op *op, u32 loops, double *running_share)
{
	struct native_count before, count;
	double part;

	/* The times "enabled" and "running" of a counter cannot be reset, so use differences. */
	if (read(fd, &before, sizeof(before)) != sizeof(before) ||
	    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		return NAN;
	op(loops);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	if (read(fd, &count, sizeof(count)) != sizeof(count))
		return NAN;
	count.value -= before.value;
	count.enabled -= before.enabled;
	count.running -= before.running;
	part = count.enabled ? (double)count.running / count.enabled : 0;
	*running_share = part < *running_share ? part : *running_share;
	return native_scale_perf_count(&count);
}

double native_count_loop_events(int fd, const struct bench_variant *variant, const u32 *loops,
				double *running_share)
{
	u32 least = loops[0], most = loops[BENCH_LOOP_COUNTS - 1];
	unsigned int layout;
	double sum = 0;

	*running_share = 1;
	for (layout = 0; layout < variant->nr_layouts; layout++) {
		bench_op *op = variant->op[layout];

		/* Warm up the caches and predictors by a call whose events are not counted. */
		op(least);
		sum += count_events(fd, op, most, running_share) -
		       count_events(fd, op, least, running_share);
	}
	return sum / variant->nr_layouts / (most - least);
}

static void count_variant_events(const struct bench_group *group, unsigned int number)
{
	u32 loops[BENCH_LOOP_COUNTS];
	unsigned int i;

	if ((group->select && group->select(number)) ||
	    bench_find_loop_counts(group, number, loops))
		return;
	for (i = 0; i < ARRAY_SIZE(counters); i++) {
		double share, events;

		if (fds[i] < 0)
			continue;
		events = native_count_loop_events(fds[i], &group->variants[number], loops, &share);
		if (isnan(events))
			fprintf(stderr, "kmbench: SKIP counter %s of %s, variant %s: the counter did not run\n",
				counters[i].name, group->name, group->variants[number].name);
		else
			fprintf(file, "%s,%s,%s,%.4f,%.3f\n", group->name,
				group->variants[number].name, counters[i].name, events, share);
	}
}

void native_counters_write_group(const struct bench_group *group)
{
	unsigned int i;

	if (!file || group->block)
		return;
	if (group->setup && group->setup())
		return;
	for (i = 0; i < group->nr_variants; i++)
		count_variant_events(group, i);
	if (group->teardown)
		group->teardown();
}

int native_counters_close(const char *dir)
{
	return file ? native_close_output_file(file, dir, "counters", "") : 0;
}
