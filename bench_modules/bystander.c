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

static struct {
	u32 asked;	/* written by who asks */
	u32 answered;	/* these two written by the thread, @gap first */
	u64 gap;
} state;

u64 bystander_gap(void)
{
	u32 number = state.asked + 1;

	WRITE_ONCE(state.asked, number);
	/* Pairs with the release in bystander_loop(). */
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

void bystander_loop(void)
{
	u64 now, last = bench_tsc(), longest = 0, own = 0;
	u64 settling = ktime_get_ns() + SETTLING_NS;
	unsigned int irqs = bystander_timer_irqs();
	bool disturbed = false, settled = false;

	while (!bystander_should_stop()) {
		u32 asked = READ_ONCE(state.asked);
		unsigned int irqs_now;
		u64 gap;

		now = bench_tsc();
		irqs_now = bystander_timer_irqs();
		/* An interrupt between the two lengthens the gap of the next pass. */
		gap = gap_that_counts(now - last, irqs_now != irqs || disturbed, settled, &own);
		if (gap > longest)
			longest = gap;
		disturbed = irqs_now != irqs;
		irqs = irqs_now;
		last = now;
		if (!settled) {
			settled = ktime_get_ns() >= settling;
		} else if (asked != state.answered) {
			state.gap = longest;
			longest = 0;
			/* Pairs with the acquire of whoever asked: the gap is there. */
			smp_store_release(&state.answered, asked);
		}
		bystander_yield();
	}
}
