/* SPDX-License-Identifier: GPL-2.0-only */
/* A CPU that executes no site: it reads the clock all the time, and notices gaps. */
#ifndef BENCH_MODULES_BYSTANDER_H
#define BENCH_MODULES_BYSTANDER_H

#include <linux/types.h>

/**
 * struct bench_watch - what the bystander's thread knows
 * @settling: until when it learns what an interrupt of its timer costs
 * @last: the reading of the clock before
 * @now: the last one
 * @longest: gap since it was asked
 * @own: gap that an interrupt of its timer made
 * @irqs: of its timer, at the reading before
 * @asked: how often it was asked, before the last reading
 * @disturbed: its timer's interrupt came since the reading before
 * @settled: it has learnt
 */
struct bench_watch {
	u64 settling;
	u64 last;
	u64 now;
	u64 longest;
	u64 own;
	unsigned int irqs;
	u32 asked;
	bool disturbed;
	bool settled;
};

/*
 * What the thread does: begin, then read the clock and look at the gap in turns.
 * It counts the interrupts of its CPU's timer after reading the clock: one that
 * comes between the two lengthens the gap of the next pass.
 */
void bench_watch_begin(struct bench_watch *watch, unsigned int irqs);
void bench_watch_clock(struct bench_watch *watch);
void bench_watch_look(struct bench_watch *watch, unsigned int irqs);

/*
 * The longest gap between two readings, in ticks, since the last call.  Gaps that
 * an interrupt of that CPU's timer makes by itself are left out: they come anyway.
 * The first call takes a tenth of a second, in which that is learnt.
 */
u64 bench_bystander_gap(void);

#endif /* BENCH_MODULES_BYSTANDER_H */
