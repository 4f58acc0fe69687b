// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a bystander does.  Asked for its longest gap it answers at its next
 * reading of the clock, so that a gap that is not over yet counts, too.
 */
#include <linux/compiler.h>
#include <linux/processor.h>

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

void bystander_loop(void)
{
	u64 now, last = bench_tsc(), longest = 0;
	unsigned int irqs = bystander_timer_irqs();
	bool disturbed = false;

	while (!bystander_should_stop()) {
		u32 asked = READ_ONCE(state.asked);
		unsigned int irqs_now;

		now = bench_tsc();
		irqs_now = bystander_timer_irqs();
		/* An interrupt between the two lengthens the gap of the next pass. */
		if (irqs_now == irqs && !disturbed && now - last > longest)
			longest = now - last;
		disturbed = irqs_now != irqs;
		irqs = irqs_now;
		last = now;
		if (asked != state.answered) {
			state.gap = longest;
			longest = 0;
			/* Pairs with the acquire of whoever asked: the gap is there. */
			smp_store_release(&state.answered, asked);
		}
		bystander_yield();
	}
}
