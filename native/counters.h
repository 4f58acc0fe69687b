/* SPDX-License-Identifier: GPL-2.0-only */
/* Hardware counters: numbers of events in a pass of each variant. */
#ifndef NATIVE_COUNTERS_H
#define NATIVE_COUNTERS_H

#include <kmarkers/bench.h>

/* An event of perf_event_open(2). */
struct native_counter {
	const char *name;
	u32 type;
	u64 config;
};

/* Number of events, and the ns for which their counter was enabled and was running. */
struct native_count {
	u64 value, enabled, running;
};

/* Open a counter of this thread in user space.  Return a file descriptor or -1, with errno. */
int native_counter_open(const struct native_counter *counter);

/*
 * Return the events of a pass, or NAN: the slope over two numbers of passes, at every layout.
 * Set @share to the least share of the time in which the counter ran.
 */
double native_counter_passes(int fd, const struct bench_variant *variant, const u32 *loops,
			     double *share);

/* Return the count, scaled to the whole time, or NAN. */
double native_count_scaled(const struct native_count *count);

/* Begin a CSV file in @dir, unless that is NULL.  Report why if there are no counters. */
void native_counters_begin(const char *dir);
/* Count in each variant of a group, after it was measured. */
void native_counters_show(const struct bench_group *group);
/* End the file.  Return 0 or -EIO. */
int native_counters_end(const char *dir);

#endif /* NATIVE_COUNTERS_H */
