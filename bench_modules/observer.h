/* SPDX-License-Identifier: GPL-2.0-only */
/* The observer CPU: it executes no site, reads the clock in a loop and measures gaps. */
#ifndef BENCH_MODULES_OBSERVER_H
#define BENCH_MODULES_OBSERVER_H

#include <linux/types.h>

/**
 * struct bench_watch - the state of the observer's thread
 * @calibrating_until: time in ns until which it measures the gaps of its timer's interrupts
 * @last: the last but one reading of the clock
 * @now: the last reading
 * @longest: the longest gap since the thread was last asked
 * @own: the longest gap that an interrupt of its timer made
 * @irqs: number of its timer's interrupts at the reading @last
 * @asked: how often it had been asked before the last reading
 * @disturbed: an interrupt of its timer was counted at the reading @last
 * @calibrated: the time @calibrating_until has passed
 */
struct bench_watch {
	u64 calibrating_until;
	u64 last;
	u64 now;
	u64 longest;
	u64 own;
	unsigned int irqs;
	u32 asked;
	bool disturbed;
	bool calibrated;
};

/*
 * Steps of the thread: begin, then read the clock and look at the gap in turns.
 * It counts the interrupts of its CPU's timer after reading the clock: an interrupt
 * between the two lengthens the gap of the next pass.
 */
void bench_watch_begin(struct bench_watch *watch, unsigned int irqs);
void bench_watch_clock(struct bench_watch *watch);
void bench_watch_look(struct bench_watch *watch, unsigned int irqs);

/*
 * Return the longest gap between two readings, in ticks, since the last call.  Gaps that
 * an interrupt of that CPU's timer makes by itself are left out, since they always occur.
 * The first call takes a tenth of a second, in which such gaps are measured.
 */
u64 bench_observer_gap(void);

/* Return the CPU that had the gap which the last call returned. */
unsigned int bench_observer_cpu(void);

/* Set work for the thread to do between two readings; NULL for none. The thread is not running. */
void bench_observer_work(void (*work)(void));

#endif /* BENCH_MODULES_OBSERVER_H */
