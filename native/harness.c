// SPDX-License-Identifier: GPL-2.0-only
/* User-space implementation of platform.h: count context switches and core cycles. */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <kmarkers/hypervisor.h>

#include <kmarkers/bench.h>
#include "../bench_modules/platform.h"

static int counter = -1;

u64 bench_count_context_switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

void bench_let_tasks_run(void)
{
}

/* Open a counter of the cycles that this thread spends in user mode. */
static int open_cycle_counter(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC), above;

	if (fd < 0)
		return fd;
	/*
	 * The descriptor of the counter may be the descriptor of a standard stream that is closed.
	 * Move the counter to a higher descriptor, so that the stream stays closed.
	 */
	above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	close(fd);
	return above;
}

static const char *explain_counter_error(int err)
{
	switch (err) {
	case ENOENT:
	case EOPNOTSUPP:
		return "this machine has no hardware counter of cycles";
	case EACCES:
	case EPERM:
		return "no permission for perf events: reduce kernel.perf_event_paranoid";
	default:
		return strerror(err);
	}
}

enum bench_cycles bench_find_cycles_source(void)
{
	static enum bench_cycles source;
	static bool known;

	if (known)
		return source;
	known = true;
	if (kmarkers_is_emulated()) {
		source = BENCH_CYCLES_NONE;
		return source;
	}
	counter = open_cycle_counter();
	source = counter < 0 ? BENCH_CYCLES_ESTIMATED : BENCH_CYCLES_COUNTED;
	if (counter < 0)
		fprintf(stderr, "kmarkers: core cycles are estimated, not counted: %s\n",
			explain_counter_error(errno));
	return source;
}

u64 bench_read_cycle_counter(void)
{
	u64 value = 0;

	return read(counter, &value, sizeof(value)) == sizeof(value) ? value : 0;
}
