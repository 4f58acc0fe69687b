/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The observer CPU runs a thread that executes no patch site, but reads the clock in a loop.  A gap
 * between two readings shows how long this CPU was held up.
 */
#ifndef BENCH_MODULES_OBSERVER_H
#define BENCH_MODULES_OBSERVER_H

#include <linux/types.h>

/**
 * struct bench_watch - the state of the observer thread
 * @calibrating_until: ktime_get_ns() at the end of the calibration
 * @last: previous reading of the clock, in TSC ticks
 * @now: latest reading of the clock, in TSC ticks
 * @longest: longest gap since the last request for the longest gap, in TSC ticks
 * @timer_gap: longest gap of the calibration that contained a timer interrupt, in TSC ticks
 * @irqs: number of timer interrupts of the CPU, read after @last
 * @asked: number of requests for the longest gap, read before @now
 * @disturbed: true if a timer interrupt occurred between the last two readings of @irqs
 * @calibrated: true after the end of the calibration
 */
struct bench_watch {
	u64 calibrating_until;
	u64 last;
	u64 now;
	u64 longest;
	u64 timer_gap;
	unsigned int irqs;
	u32 asked;
	bool disturbed;
	bool calibrated;
};

/*
 * Steps of the thread: bench_watch_init(), then bench_watch_read_clock() and
 * bench_watch_record_gap() alternately.  @timer_irqs is the number of timer interrupts of the CPU.
 * The thread reads this number after the clock, so an interrupt between these two readings
 * lengthens the next gap.
 */
void bench_watch_init(struct bench_watch *watch, unsigned int timer_irqs);
void bench_watch_read_clock(struct bench_watch *watch);
void bench_watch_record_gap(struct bench_watch *watch, unsigned int timer_irqs);

/*
 * Return the longest gap between two readings of the clock since the last call, in TSC ticks.  Gaps
 * that the CPU's timer interrupt alone causes are ignored.  The first call waits 100 ms for a
 * calibration, which measures gaps with a timer interrupt.
 */
u64 bench_observer_read_gap(void);

/* Return the CPU on which the last result of bench_observer_read_gap() was measured. */
unsigned int bench_observer_get_gap_cpu(void);

/*
 * Set the function that the observer thread calls before each reading of the clock; NULL for none.
 * The thread must not be running.
 */
void bench_observer_set_callback(void (*work)(void));

#endif /* BENCH_MODULES_OBSERVER_H */
