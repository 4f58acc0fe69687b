// SPDX-License-Identifier: GPL-2.0-only
/*
 * Show the progress of kmbench on stderr: a line for each benchmark, and on a terminal the number
 * of windows measured so far.  Nothing is written while a window is timed.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <kmarkers/bench.h>
#include "progress.h"

#define INTERVAL_MS	200

static struct {
	unsigned int groups, number;
	const struct bench_group *group;
	const struct bench_result *result;
	long started, shown;	/* milliseconds */
	bool terminal;
} progress;

static long read_clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000L + now.tv_nsec / 1000000;
}

void native_progress_set_total(unsigned int groups)
{
	progress.groups = groups;
	progress.terminal = isatty(STDERR_FILENO);
}

static void show_group_number_and_name(void)
{
	fprintf(stderr, "%skmbench: [%u/%u] %s: ", progress.terminal ? "\r" : "",
		progress.number, progress.groups, progress.group->name);
}

static void show_window_counts(void)
{
	const struct bench_result *result = progress.result;

	fprintf(stderr, "%u of %u windows", result->nr, result->planned);
}

void native_progress_start(const struct bench_group *group, const struct bench_result *result)
{
	progress.number++;
	progress.group = group;
	progress.result = result;
	progress.started = progress.shown = read_clock_ms();
	if (progress.terminal) {
		show_group_number_and_name();
		show_window_counts();
	}
}

void native_progress_show(void)
{
	long now = progress.terminal ? read_clock_ms() : 0;

	if (!progress.terminal || now - progress.shown < INTERVAL_MS)
		return;
	progress.shown = now;
	show_group_number_and_name();
	show_window_counts();
}

void native_progress_end(int err)
{
	show_group_number_and_name();
	if (err == -ENODEV && progress.group->lacks) {
		fprintf(stderr, "SKIP, %s\n", progress.group->lacks);
		return;
	}
	show_window_counts();
	fprintf(stderr, " in %.1f s", (read_clock_ms() - progress.started) / 1e3);
	if (err)
		fprintf(stderr, ", %s", err == -EINTR ? "interrupted" : strerror(-err));
	fprintf(stderr, "\n");
}
