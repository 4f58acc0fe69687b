/* SPDX-License-Identifier: GPL-2.0-only */
/* Pseudo-random walk through a large buffer, to access uncached data or to evict caches. */
#ifndef BENCH_MODULES_WALK_H
#define BENCH_MODULES_WALK_H

#include <linux/compiler.h>
#include <linux/types.h>

/*
 * Return the next state of Knuth's random number generator MMIX.  Callers should use the high bits,
 * which are more random than the low bits.
 */
static __always_inline u64 compute_next_walk_state(u64 state)
{
	return state * 6364136223846793005ULL + 1442695040888963407ULL;
}

/* Return the address of the cache line that @state selects in a buffer of 1 << @order bytes. */
static __always_inline u8 *pick_walk_line(u8 *buffer, unsigned int order, u64 state)
{
	return buffer + ((state >> (64 - order)) & ~63ULL);
}

#define EVICT_ORDER	23	/* log2 of the buffer size: 8 MiB, several times L2 */
#define EVICT_STEPS	65536	/* number of writes that evict L1 and L2 */

/*
 * Evict caches by writes to random lines of a buffer.  A linear sweep would leave some old lines in
 * a cache, due to the replacement policy of the cache.
 */
static inline void evict_caches_by_walk(u8 *buffer, unsigned int order, unsigned int steps,
					u64 *state)
{
	unsigned int i;
	u8 *line;

	for (i = 0; i < steps; i++) {
		*state = compute_next_walk_state(*state);
		line = pick_walk_line(buffer, order, *state);
		WRITE_ONCE(*line, READ_ONCE(*line) + 1);
	}
}

#endif /* BENCH_MODULES_WALK_H */
