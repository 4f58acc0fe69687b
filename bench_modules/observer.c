// SPDX-License-Identifier: GPL-2.0-only
/*
 * The loop of the observer thread. It answers a request for its longest gap after its next clock
 * reading, so that a gap in progress is counted, too.
 */
#include <linux/compiler.h>
#include <linux/processor.h>
#include <linux/smp.h>
#include <linux/timekeeping.h>

#include <kmarkers/bench.h>
#include "observer.h"
#include "platform.h"

static struct {
	u32 asked;	/* written by the caller of bench_observer_gap() */
	u32 answered;	/* the thread writes this, @gap and @cpu, this last */
	u64 gap;
	unsigned int cpu;
	void (*work)(void);
} state;

void bench_observer_work(void (*work)(void))
{
	state.work = work;
}

u64 bench_observer_gap(void)
{
	u32 number = state.asked + 1;

	WRITE_ONCE(state.asked, number);
	/* Pairs with the release in bench_watch_look(). */
	while (smp_load_acquire(&state.answered) != number) {
		cpu_relax();
		bench_pause();
	}
	return state.gap;
}

unsigned int bench_observer_cpu(void)
{
	return state.cpu;
}

/* Calibration time: how long the thread measures the gaps that timer interrupts alone cause. */
#define CALIBRATION_NS	100000000

/*
 * The length of a gap if it counts, else 0.  A gap without a timer interrupt counts.  A
 * gap with one counts if it is longer than twice the longest gap that a timer interrupt
 * made by itself.  A gap longer than the timer's period always contains an interrupt.
 */
static u64 gap_that_counts(u64 gap, bool interrupted, bool calibrated, u64 *own)
{
	if (!interrupted)
		return gap;
	if (!calibrated && gap > *own)
		*own = gap;
	return calibrated && gap > 2 * *own ? gap : 0;
}

void bench_watch_begin(struct bench_watch *watch, unsigned int irqs)
{
	*watch = (struct bench_watch) {
		.calibrating_until = ktime_get_ns() + CALIBRATION_NS,
		.irqs = irqs,
		.last = bench_tsc(),
	};
}

void bench_watch_clock(struct bench_watch *watch)
{
	if (state.work)
		state.work();
	watch->asked = READ_ONCE(state.asked);
	watch->now = bench_tsc();
}

void bench_watch_look(struct bench_watch *watch, unsigned int irqs)
{
	bool interrupted = irqs != watch->irqs;
	u64 gap;

	gap = gap_that_counts(watch->now - watch->last, interrupted || watch->disturbed,
			      watch->calibrated, &watch->own);
	if (gap > watch->longest)
		watch->longest = gap;
	watch->disturbed = interrupted;
	watch->irqs = irqs;
	watch->last = watch->now;
	if (!watch->calibrated) {
		watch->calibrated = ktime_get_ns() >= watch->calibrating_until;
	} else if (watch->asked != state.answered) {
		state.gap = watch->longest;
		state.cpu = raw_smp_processor_id();
		watch->longest = 0;
		/* Pairs with the acquire in bench_observer_gap(): the gap is written. */
		smp_store_release(&state.answered, watch->asked);
	}
}
