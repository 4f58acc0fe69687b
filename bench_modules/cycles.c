// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measure the number of core cycles per TSC tick.  The TSC runs at a fixed frequency, but the
 * frequency of the core changes, so the ratio is measured in every block.  The code times a chain
 * of add instructions; each needs the result of the previous one.  If there is a hardware counter
 * of cycles, the code reads it before and after the chain.  Otherwise each addition counts as one
 * cycle, because every x86-64 core so far adds two registers in one cycle (Agner Fog, Instruction
 * tables).  The chain does not add a small constant, because some cores eliminate such additions.
 */
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/sort.h>
#include <linux/stringify.h>

#include <kmarkers/bench.h>
#include "cycles.h"
#include "platform.h"

#define LINKS_PER_PASS	64
#define SHORT_PASSES	16
#define LONG_PASSES	272
#define PAIRS		4

struct window {
	u64 ticks;
	u64 cycles;
};

static noinline void time_addition_chain(u32 passes, bool use_counter, struct window *window)
{
	unsigned long irqs, sum = 0, one = 1;
	u64 cycles = (u64)passes * LINKS_PER_PASS, before = 0, start;
	u32 i;

	local_irq_save(irqs);
	if (use_counter)
		before = bench_read_cycle_counter();
	start = bench_read_tsc();
	for (i = 0; i < passes; i++)
		asm volatile(".rept " __stringify(LINKS_PER_PASS) "\n\t"
			     "add %1, %0\n\t"
			     ".endr" : "+r" (sum) : "r" (one) : "cc");
	window->ticks = bench_read_tsc() - start;
	if (use_counter)
		cycles = bench_read_cycle_counter() - before;
	local_irq_restore(irqs);
	window->cycles = cycles;
}

static int compare_ratios(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/**
 * bench_measure_cycles_per_tick() - measure the core cycles in 1 << BENCH_CYCLES_SHIFT TSC ticks
 *
 * The result is the mean of the middle two of four measurements, because an interrupt may disturb
 * one measurement.  User space cannot disable interrupts.
 *
 * Return: the ratio, or 0 if at least two of the measurements failed or the machine cannot count
 * core cycles.
 */
u64 bench_measure_cycles_per_tick(void)
{
	enum bench_cycles source = bench_find_cycles_source();
	struct window brief, longer;
	u64 ratios[PAIRS];
	unsigned int i;

	if (source == BENCH_CYCLES_NONE)
		return 0;
	for (i = 0; i < PAIRS; i++) {
		time_addition_chain(SHORT_PASSES, source == BENCH_CYCLES_COUNTED, &brief);
		time_addition_chain(LONG_PASSES, source == BENCH_CYCLES_COUNTED, &longer);
		if (longer.ticks <= brief.ticks || longer.cycles <= brief.cycles)
			ratios[i] = 0;
		else
			ratios[i] = div64_u64((longer.cycles - brief.cycles) << BENCH_CYCLES_SHIFT,
					      longer.ticks - brief.ticks);
	}
	sort(ratios, PAIRS, sizeof(*ratios), compare_ratios, NULL);
	/* The ratios are sorted and 0 for a failed measurement: at least two have failed. */
	if (!ratios[PAIRS / 2 - 1])
		return 0;
	return (ratios[PAIRS / 2 - 1] + ratios[PAIRS / 2]) / 2;
}
