/* SPDX-License-Identifier: GPL-2.0-only */
/* A pseudo-random walk through a large buffer, for cold data and to evict caches. */
#ifndef BENCH_MODULES_WALK_H
#define BENCH_MODULES_WALK_H

#include <linux/compiler.h>
#include <linux/types.h>

/* Next state of Knuth's MMIX generator; use its high bits, which are more random. */
static __always_inline u64 walk_next(u64 state)
{
	return state * 6364136223846793005ULL + 1442695040888963407ULL;
}

/* The start of a random cache line of a buffer of 1 << @order bytes. */
static __always_inline u8 *walk_line(u8 *buffer, unsigned int order, u64 state)
{
	return buffer + ((state >> (64 - order)) & ~63ULL);
}

#define EVICT_ORDER	23	/* a buffer of 8 MiB: several times L2 */
#define EVICT_STEPS	65536

/* Evict caches, in random order: with a linear sweep the replacement policy keeps some lines. */
static inline void walk_evict(u8 *buffer, unsigned int order, unsigned int steps, u64 *state)
{
	unsigned int i;
	u8 *line;

	for (i = 0; i < steps; i++) {
		*state = walk_next(*state);
		line = walk_line(buffer, order, *state);
		WRITE_ONCE(*line, READ_ONCE(*line) + 1);
	}
}

#endif /* BENCH_MODULES_WALK_H */
