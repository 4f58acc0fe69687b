// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compares the emulator with the CPU on random instructions with random
 * registers and flags.  Arguments: the number of comparisons, and a seed.  An
 * instruction that the decoder does not know is replaced by another one.  A timer
 * sends signals meanwhile, as in a fuzzer.  None may arrive while the stack pointer
 * is random.  Some random stack pointers are addresses in the handler's stack.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include <linux/kernel.h>

#include "oracle.h"

/* Cases generated for each comparison, at most.  Most cases are known to the decoder. */
#define CASES_PER_COMPARISON	4

static u64 state, wanted, generated;
static struct oracle_result result;

/* splitmix64 */
static u64 next_random(void)
{
	u64 z = state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/*
 * Opcodes of every kind that the decoder knows.  The bytes behind them are random, so
 * that there are operands of every kind.  R: a random REX prefix.  P: up to three
 * random prefixes.  C: a random condition or register in the low four bits.
 */
static const char *const forms[] = {
	"P\x90", "P\x0f\x1f", "P\x0f\x1f", "\xeb", "\xe9", "\xe8",
	"C\x70", "\x0f" "C\x80", "C\xb0", "RC\xb0", "6C\xb0", "6RC\xb0", "66C\xb0",
};

static unsigned int put_form(u8 *code, const char *form)
{
	static const u8 prefixes[] = { 0x66, 0x2e, 0x3e };
	unsigned int at = 0, n;

	for (; *form; form++) {
		if (*form == 'R')
			code[at++] = 0x40 | (next_random() & 0x0f);
		else if (*form == '6')
			code[at++] = 0x66;
		else if (*form == 'C')
			code[at++] = *++form | (next_random() & 0x0f);
		else if (*form == 'P')
			for (n = next_random() % 4; n; n--)
				code[at++] = prefixes[next_random() % 3];
		else
			code[at++] = *form;
	}
	return at;
}

static bool next_case(struct oracle_case *test)
{
	u64 words[sizeof(*test) / 8 + 1];
	unsigned int i, at;

	if (result.compared >= wanted || generated >= wanted * CASES_PER_COMPARISON)
		return false;
	generated++;
	for (i = 0; i < ARRAY_SIZE(words); i++)
		words[i] = next_random();
	memcpy(test, words, sizeof(*test));
	test->offset %= ORACLE_OFFSETS;
	if (next_random() % 8 == 0)
		test->regs.sp = (unsigned long)oracle_stack + next_random() % ORACLE_STACK_BYTES;
	at = put_form(test->code, forms[next_random() % ARRAY_SIZE(forms)]);
	/* Random bytes are seldom small displacements or zeros. */
	if (next_random() % 8 == 0)
		memset(test->code + at, next_random() & 1 ? 0 : 0xff, ORACLE_MAX - at);
	return true;
}

static void on_tick(int sig)
{
}

int main(int argc, char **argv)
{
	const struct itimerval tick = { { 0, 1000 }, { 0, 1000 } }, never = { { 0 } };
	bool good;
	int err;

	wanted = argc > 1 ? strtoull(argv[1], NULL, 0) : 100000;
	state = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	signal(SIGALRM, on_tick);
	setitimer(ITIMER_REAL, &tick, NULL);
	err = oracle_run(next_case, &result);
	setitimer(ITIMER_REAL, &never, NULL);
	printf("KTAP version 1\n1..1\n");
	printf("# %llu of %llu instructions emulated and executed, %llu unknown to the decoder\n",
	       result.compared, wanted, result.refused);
	if (result.different)
		oracle_print(&result);
	if (err)
		printf("# error %d\n", err);
	good = !err && !result.different && result.compared == wanted;
	printf("%s 1 insn_emulated_as_executed\n", good ? "ok" : "not ok");
	return !good;
}
