// SPDX-License-Identifier: GPL-2.0-only
/*
 * The observer thread reads the clock in a loop.  Another thread requests the longest gap: the
 * longest time between two readings.  The observer thread answers a request after the next reading
 * of the clock, so the answer includes a gap that began before the request.
 */
#include <linux/compiler.h>
#include <linux/processor.h>
#include <linux/smp.h>
#include <linux/timekeeping.h>

#include <kmarkers/bench.h>
#include "observer.h"
#include "platform.h"

static struct {
	u32 asked;	/* number of requests for a gap; written by bench_observer_read_gap() */
	u32 answered;	/* number of answered requests; written after @gap and @cpu */
	u64 gap;
	unsigned int cpu;
	void (*work)(void);
} state;

void bench_observer_set_callback(void (*work)(void))
{
	state.work = work;
}

u64 bench_observer_read_gap(void)
{
	u32 number = state.asked + 1;

	WRITE_ONCE(state.asked, number);
	/* Pairs with the release in bench_watch_record_gap(). */
	while (smp_load_acquire(&state.answered) != number) {
		cpu_relax();
		bench_let_tasks_run();
	}
	return state.gap;
}

unsigned int bench_observer_get_gap_cpu(void)
{
	return state.cpu;
}

/* Duration of the calibration, which measures the gaps that timer interrupts alone cause. */
#define CALIBRATION_NS	100000000

/*
 * Return 0 if a timer interrupt alone may have caused @gap, else @gap.  @interrupted is true if a
 * timer interrupt may have occurred in @gap.  During the calibration, all interrupted gaps are
 * ignored, and @longest_timer_gap is set to the longest interrupted gap.  After the calibration,
 * interrupted gaps up to twice @longest_timer_gap are ignored.  Longer gaps are returned, because
 * every gap that is longer than the period of the timer is interrupted.
 */
static u64 filter_timer_gap(u64 gap, bool interrupted, bool calibrated,
			    u64 *longest_timer_gap)
{
	if (!interrupted)
		return gap;
	if (!calibrated && gap > *longest_timer_gap)
		*longest_timer_gap = gap;
	return calibrated && gap > 2 * *longest_timer_gap ? gap : 0;
}

void bench_watch_init(struct bench_watch *watch, unsigned int timer_irqs)
{
	*watch = (struct bench_watch) {
		.calibrating_until = ktime_get_ns() + CALIBRATION_NS,
		.irqs = timer_irqs,
		.last = bench_read_tsc(),
	};
}

void bench_watch_read_clock(struct bench_watch *watch)
{
	if (state.work)
		state.work();
	watch->asked = READ_ONCE(state.asked);
	watch->now = bench_read_tsc();
}

void bench_watch_record_gap(struct bench_watch *watch, unsigned int timer_irqs)
{
	bool interrupted = timer_irqs != watch->irqs;
	u64 gap;

	gap = filter_timer_gap(watch->now - watch->last, interrupted || watch->disturbed,
			       watch->calibrated, &watch->timer_gap);
	if (gap > watch->longest)
		watch->longest = gap;
	watch->disturbed = interrupted;
	watch->irqs = timer_irqs;
	watch->last = watch->now;
	if (!watch->calibrated) {
		watch->calibrated = ktime_get_ns() >= watch->calibrating_until;
	} else if (watch->asked != state.answered) {
		state.gap = watch->longest;
		state.cpu = raw_smp_processor_id();
		watch->longest = 0;
		/* Pairs with the acquire in bench_observer_read_gap(), which then reads the gap. */
		smp_store_release(&state.answered, watch->asked);
	}
}
