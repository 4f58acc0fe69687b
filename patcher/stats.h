/* SPDX-License-Identifier: GPL-2.0-only */
/* Counters of the patcher. */
#ifndef PATCHER_STATS_H
#define PATCHER_STATS_H

#include <linux/timekeeping.h>
#include <linux/types.h>

#include <kmarkers/patcher.h>

struct patcher_stats *patcher_get_stats_locked(void);
void patcher_count_batch(int err, unsigned int nr, u64 ns);
void patcher_count_emulated_int3(void);
void patcher_count_stale_int3(void);

/* Set @longest to the number of nanoseconds since @start if this number is larger than @longest. */
static inline void patcher_record_longest_ns(unsigned long *longest, u64 start)
{
	unsigned long ns = ktime_get_ns() - start;

	if (ns > *longest)
		*longest = ns;
}

#endif /* PATCHER_STATS_H */
