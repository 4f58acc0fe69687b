/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_TIMEKEEPING_H
#define NATIVE_TIMEKEEPING_H
#include <linux/types.h>
#include <time.h>

static inline u64 ktime_get_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}
#endif
