// SPDX-License-Identifier: GPL-2.0-only
/* The counters that patcher/stats in debugfs shows. */
#include <linux/atomic.h>
#include <linux/export.h>
#include <linux/kprobes.h>

#include "../base/lock.h"
#include "stats.h"

/* Protected by patcher_lock().  Breakpoint handlers use the atomic counters below instead. */
static struct patcher_stats counters;
static atomic_long_t hits;
static atomic_long_t stale;

/* Return the counters.  The caller holds patcher_lock(). */
struct patcher_stats *patcher_get_stats_locked(void)
{
	patcher_assert_locked();
	return &counters;
}

/* Count a breakpoint that the breakpoint handler has handled by emulating an instruction. */
void patcher_count_emulated_int3(void)
{
	atomic_long_inc(&hits);
}
NOKPROBE_SYMBOL(patcher_count_emulated_int3);

/* Count a stale int3: other bytes have replaced the int3 after a CPU fetched it. */
void patcher_count_stale_int3(void)
{
	atomic_long_inc(&stale);
}
NOKPROBE_SYMBOL(patcher_count_stale_int3);

void patcher_count_batch(int err, unsigned int nr, u64 ns)
{
	patcher_assert_locked();
	if (err) {
		counters.refused++;
		return;
	}
	counters.batches++;
	counters.sites += nr;
	counters.durations[patcher_get_duration_bucket(ns)]++;
}

/**
 * patcher_read_stats() - read a snapshot of the counters
 * @stats: filled in
 *
 * Context: may sleep.
 */
void patcher_read_stats(struct patcher_stats *stats)
{
	patcher_lock();
	*stats = counters;
	patcher_unlock();
	stats->hits = atomic_long_read(&hits);
	stats->stale = atomic_long_read(&stale);
}
EXPORT_SYMBOL_GPL(patcher_read_stats);
