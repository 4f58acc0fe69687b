/* SPDX-License-Identifier: GPL-2.0-only */
/* Hardware performance counters: number of events per loop iteration of each variant. */
#ifndef NATIVE_COUNTERS_H
#define NATIVE_COUNTERS_H

#include <kmarkers/bench.h>

/* An event of perf_event_open(2): its name in the output, and the fields of perf_event_attr. */
struct native_counter {
	const char *name;
	u32 type;
	u64 config;
};

/*
 * What was read from a counter: the number of events, the time in ns for which the counter was
 * enabled, and the time in ns for which the counter ran.
 */
struct native_count {
	u64 value, enabled, running;
};

/* Open a counter for events of this thread in user mode.  Return a descriptor, or -1 with errno. */
int native_open_perf_counter(const struct native_counter *counter);

/*
 * Return the number of events per loop iteration, averaged over all layouts, or NAN.  For each
 * layout, this is the slope of the number of events over the loop count.  Set @running_share to the
 * share of a window (0 to 1) during which the counter ran: the smallest share of all windows.
 */
double native_count_loop_events(int fd, const struct bench_variant *variant, const u32 *loops,
				double *running_share);

/*
 * Return a count, scaled up to the whole time for which the counter was enabled; NAN if the counter
 * never ran.
 */
double native_scale_perf_count(const struct native_count *count);

/*
 * Open the counters and the CSV file "counters" in @dir.  Do nothing if @dir is NULL, or if there
 * are no counters.  Return 0, or -EIO if the file cannot be created.
 */
int native_counters_open(const char *dir);
/*
 * Count the events of each variant of a group, and write the numbers to the file.  Call this after
 * the timed windows of the group.
 */
void native_counters_write_group(const struct bench_group *group);
/* Close the file "counters".  Return 0 or -EIO. */
int native_counters_close(const char *dir);

#endif /* NATIVE_COUNTERS_H */
