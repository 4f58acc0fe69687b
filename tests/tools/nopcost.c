// SPDX-License-Identifier: GPL-2.0-only
/*
 * nopcost - measure the cost of a 7-byte nop in the loops of density-full and density-spread
 *
 * The program shares no code with kmarkers.  A dormant marker whose flavour is "jump" is such a
 * nop, with the distance of a jump in its last four bytes.
 *
 * Every loop is at 256 random places in memory.  In each round, the loops at all places run with LOW
 * and with HIGH passes.  The cost of 16 nops is the duration of a pass with 16 nops minus the duration
 * of a pass without nops.  The result is the median over the rounds for each place, then the mean over
 * the places, with half the width of its 95 % interval.  The unit is core cycles: one addition in a
 * dependent chain takes one cycle, measured at the same place in the same round.
 *
 * usage: nopcost ROUNDS
 * The program prints "together COST HALF_WIDTH" and "spread COST HALF_WIDTH", per nop.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define NOP	".byte 0x0f, 0x1f, 0x80\n\t.long 0x200\n\t"
#define T1	"add %ecx, %ecx\n\tadd %edx, %edx\n\tmov (%rsp), %esi\n\t"
#define T2	"add %r8d, %r8d\n\tadd %r9d, %r9d\n\tmov (%rsp), %edi\n\t"
#define T3	"add %r10d, %r10d\n\tadd %r11d, %r11d\n\tmov (%rsp), %esi\n\t"
#define NINE	T1 T2 T3
#define TWICE(x) x x
#define FOUR(x)	TWICE(x) TWICE(x)
#define ALL(x)	FOUR(x) FOUR(x) FOUR(x) FOUR(x)

#define NONE	 NINE NINE NINE NINE NINE NINE
#define TOGETHER ALL(NOP) NONE
#define APART	 T1 NOP T2 NOP T3 NOP
#define SPREAD	 APART APART APART APART APART T1 NOP T2 T3
#define CHAIN	 ALL(FOUR("add %rcx, %rcx\n\t"))

enum { NR_PLACES = 256, NR_NOPS = 16, NR_CHAIN = 64, LOW = 100, HIGH = 3100, SLOT = 1024 };

/* The 97.5 % quantile of Student's t distribution with NR_PLACES - 1 degrees of freedom. */
#define STUDENT_T 1.97

typedef void (*loop_fn)(uint32_t passes);

/* The code of a function with a loop, which works at any place in memory. */
#define LOOP(name, body)						\
extern const uint8_t name[], name##_end[];				\
asm(#name ":\n\tmov %edi, %eax\n1:\n\t" body "dec %eax\n\tjnz 1b\n\tret\n" #name "_end:\n")

LOOP(none, NONE);
LOOP(together, TOGETHER);
LOOP(spread, SPREAD);
LOOP(chain, CHAIN);

static uint8_t *next_slot;

/* Copy a loop to a random place in the next slot. */
static loop_fn copy_loop_to_random_place(const uint8_t *code, const uint8_t *end)
{
	uint8_t *place = next_slot + random() % (SLOT - (end - code));

	next_slot += SLOT;
	return (loop_fn)memcpy(place, code, end - code);
}

static uint64_t read_tsc(void)
{
	uint32_t low, high;

	asm volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high) : : "memory");
	return low | (uint64_t)high << 32;
}

static double measure_loop_ticks(loop_fn loop, uint32_t passes)
{
	uint64_t start = read_tsc();

	loop(passes);
	return read_tsc() - start;
}

/* Return the duration of one pass of @loop in TSC ticks. */
static double time_one_pass(loop_fn loop)
{
	double low = measure_loop_ticks(loop, LOW), high = measure_loop_ticks(loop, HIGH);

	return (high - low) / (HIGH - LOW);
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/*
 * The loops at one place, and the cost of a nop in each round.  In both arrays, index 0 is for nops
 * side by side, and index 1 for spread nops.
 */
static struct place {
	loop_fn chain, base, loops[2];
	double *costs[2];
} places[NR_PLACES];

static void measure_nops_in_round(const struct place *place, int round)
{
	double cycle = time_one_pass(place->chain) / NR_CHAIN, pass = time_one_pass(place->base);
	int i;

	for (i = 0; i < 2; i++)
		place->costs[i][round] = (time_one_pass(place->loops[i]) - pass) / cycle / NR_NOPS;
}

int main(int argc, char **argv)
{
	int i, j, rounds = argc == 2 ? atoi(argv[1]) : 0;
	double sum, squares, mean, cost;

	if (rounds < 1)
		return 2;
	next_slot = mmap(NULL, 4 * NR_PLACES * SLOT, PROT_READ | PROT_WRITE | PROT_EXEC,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (next_slot == MAP_FAILED)
		return 1;
	for (i = 0; i < NR_PLACES; i++) {
		places[i].chain = copy_loop_to_random_place(chain, chain_end);
		places[i].base = copy_loop_to_random_place(none, none_end);
		places[i].loops[0] = copy_loop_to_random_place(together, together_end);
		places[i].loops[1] = copy_loop_to_random_place(spread, spread_end);
		for (j = 0; j < 2; j++) {
			places[i].costs[j] = calloc(rounds, sizeof(double));
			if (!places[i].costs[j])
				return 1;
		}
	}
	for (j = 0; j < rounds; j++)
		for (i = 0; i < NR_PLACES; i++)
			measure_nops_in_round(&places[i], j);
	for (j = 0; j < 2; j++) {
		sum = squares = 0;
		for (i = 0; i < NR_PLACES; i++) {
			qsort(places[i].costs[j], rounds, sizeof(double), compare_doubles);
			cost = places[i].costs[j][rounds / 2];
			sum += cost;
			squares += cost * cost;
		}
		mean = sum / NR_PLACES;
		printf("%s %.4f %.4f\n", j ? "spread" : "together", mean,
		       STUDENT_T * sqrt((squares / NR_PLACES - mean * mean) / (NR_PLACES - 1)));
	}
	return 0;
}
