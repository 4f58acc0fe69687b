// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a bystander does.  Asked for its longest gap it answers at its next
 * reading of the clock, so that a gap that is not over yet counts, too.
 */
#include <linux/compiler.h>
#include <linux/processor.h>
#include <linux/timekeeping.h>

#include "bench.h"
#include "bystander.h"
#include "platform.h"

static struct {
	u32 asked;	/* written by who asks */
	u32 answered;	/* these two written by the thread, @gap first */
	u64 gap;
} state;

u64 bench_bystander_gap(void)
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

/* How long it learns what an interrupt of its CPU's timer costs by itself. */
#define SETTLING_NS	100000000

/*
 * Which gaps count: those without a timer interrupt, and those with one that are
 * longer than any that it makes by itself.  Whoever stops this CPU for longer
 * than its timer's period always has one in the gap.
 */
static u64 gap_that_counts(u64 gap, bool interrupted, bool settled, u64 *own)
{
	if (!interrupted)
		return gap;
	if (!settled && gap > *own)
		*own = gap;
	return settled && gap > 2 * *own ? gap : 0;
}

void bench_watch_begin(struct bench_watch *watch, unsigned int irqs)
{
	*watch = (struct bench_watch) {
		.settling = ktime_get_ns() + SETTLING_NS,
		.irqs = irqs,
		.last = bench_tsc(),
	};
}

void bench_watch_clock(struct bench_watch *watch)
{
	watch->asked = READ_ONCE(state.asked);
	watch->now = bench_tsc();
}

void bench_watch_look(struct bench_watch *watch, unsigned int irqs)
{
	bool interrupted = irqs != watch->irqs;
	u64 gap;

	gap = gap_that_counts(watch->now - watch->last, interrupted || watch->disturbed,
			      watch->settled, &watch->own);
	if (gap > watch->longest)
		watch->longest = gap;
	watch->disturbed = interrupted;
	watch->irqs = irqs;
	watch->last = watch->now;
	if (!watch->settled) {
		watch->settled = ktime_get_ns() >= watch->settling;
	} else if (watch->asked != state.answered) {
		state.gap = watch->longest;
		watch->longest = 0;
		/* Pairs with the acquire of whoever asked: the gap is there. */
		smp_store_release(&state.answered, watch->asked);
	}
}
