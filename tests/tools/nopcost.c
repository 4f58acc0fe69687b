// SPDX-License-Identifier: GPL-2.0-only
/*
 * nopcost - measure the cost of a 5-byte nop in the loops of density-full and density-spread
 *
 * The program shares no code with kmarkers.  A dormant marker of flavour jump is such a nop.
 *
 * In each round, every loop runs with LOW and with HIGH passes.  The cost of 16 nops is the
 * duration of a pass with 16 nops minus the duration of a pass without nops.  The result is the
 * median over the rounds for each of eight offsets in a cache line, then the mean over the offsets.
 * The unit is core cycles: one addition in a dependent chain takes one cycle, measured in the same
 * round.
 *
 * usage: nopcost ROUNDS
 * The program prints "together COST" and "spread COST", in core cycles per nop.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define NOP	".byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n\t"
#define T1	"add %%ecx, %%ecx\n\tadd %%edx, %%edx\n\tmov (%%rsp), %%esi\n\t"
#define T2	"add %%r8d, %%r8d\n\tadd %%r9d, %%r9d\n\tmov (%%rsp), %%edi\n\t"
#define T3	"add %%r10d, %%r10d\n\tadd %%r11d, %%r11d\n\tmov (%%rsp), %%esi\n\t"
#define NINE	T1 T2 T3
#define TWICE(x) x x
#define FOUR(x)	TWICE(x) TWICE(x)
#define ALL(x)	FOUR(x) FOUR(x) FOUR(x) FOUR(x)

#define NONE	 NINE NINE NINE NINE NINE NINE
#define TOGETHER ALL(NOP) NONE
#define APART	 T1 NOP T2 NOP T3 NOP
#define SPREAD	 APART APART APART APART APART T1 NOP T2 T3
#define CHAIN	 ALL(FOUR("add %%rcx, %%rcx\n\t"))

enum { NR_PLACES = 8, NR_NOPS = 16, NR_CHAIN = 64, LOW = 100, HIGH = 3100 };

typedef uint64_t (*loop_fn)(uint32_t passes);

static uint64_t read_tsc(void)
{
	uint32_t low, high;

	asm volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high) : : "memory");
	return low | (uint64_t)high << 32;
}

/* Define a function with a loop that begins @place bytes into a cache line. */
#define LOOP(name, place, body)							\
static __attribute__((noipa)) uint64_t name(uint32_t passes)			\
{										\
	uint64_t start = read_tsc();						\
										\
	asm volatile("jmp 1f\n\t.p2align 6\n\t.fill " #place ", 1, 0xcc\n"		\
		     "1:\n\t" body "dec %0\n\tjnz 1b\n\t" : "+r"(passes) : :	\
		     "ecx", "edx", "esi", "edi", "r8", "r9", "r10", "r11", "cc"); \
	return read_tsc() - start;						\
}

#define PLACES(id, body)							\
	LOOP(id##_0, 0, body) LOOP(id##_8, 8, body)				\
	LOOP(id##_16, 16, body) LOOP(id##_24, 24, body)				\
	LOOP(id##_32, 32, body) LOOP(id##_40, 40, body)				\
	LOOP(id##_48, 48, body) LOOP(id##_56, 56, body)				\
static const loop_fn id[NR_PLACES] = {						\
	id##_0, id##_8, id##_16, id##_24, id##_32, id##_40, id##_48, id##_56	\
}

PLACES(none, NONE);
PLACES(together, TOGETHER);
PLACES(spread, SPREAD);
LOOP(chain, 0, CHAIN)

/* Return the duration of one pass of @loop in TSC ticks. */
static double measure_pass(loop_fn loop)
{
	double low = loop(LOW), high = loop(HIGH);

	return (high - low) / (HIGH - LOW);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
	int rounds = argc == 2 ? atoi(argv[1]) : 0;
	double *costs[2], sums[2] = { 0 };
	int round, place, i;

	if (rounds < 1)
		return 2;
	for (i = 0; i < 2; i++) {
		costs[i] = calloc((size_t)rounds * NR_PLACES, sizeof(*costs[i]));
		if (!costs[i])
			return 1;
	}
	for (round = 0; round < rounds; round++) {
		for (place = 0; place < NR_PLACES; place++) {
			double cycle = measure_pass(chain) / NR_CHAIN;
			double base = measure_pass(none[place]);

			costs[0][place * rounds + round] = (measure_pass(together[place]) - base) / cycle;
			costs[1][place * rounds + round] = (measure_pass(spread[place]) - base) / cycle;
		}
	}
	for (i = 0; i < 2; i++) {
		for (place = 0; place < NR_PLACES; place++) {
			double *own = costs[i] + place * rounds;

			qsort(own, rounds, sizeof(*own), compare);
			sums[i] += own[rounds / 2];
		}
		printf("%s %.4f\n", i ? "spread" : "together", sums[i] / NR_PLACES / NR_NOPS);
		free(costs[i]);
	}
	return 0;
}
