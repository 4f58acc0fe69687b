// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compares the patcher's instruction emulator with the CPU, on random instructions with random
 * registers and flags.  Arguments: the number of comparisons, and a seed.  An instruction that the
 * decoder does not support is replaced by another instruction.  Some random stack pointers are
 * addresses in the stack of the signal handler of oracle.c.  A timer sends signals, as in a fuzzer:
 * oracle.c must block these signals while the stack pointer is random.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include <linux/kernel.h>

#include "oracle.h"

/*
 * Maximum number of generated cases per comparison.  Cases that the decoder does not support are
 * not compared; the decoder supports most cases.
 */
#define CASES_PER_COMPARISON	4

static u64 state, wanted, generated;
static struct oracle_result result;

/* Return the next random number of the generator splitmix64. */
static u64 draw_random(void)
{
	u64 z = state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/*
 * Opcodes of every kind that the decoder supports, as templates.  In a template, R stands for a
 * random REX prefix, P for up to three random prefixes, C for a random condition or register in the
 * low four bits of the next byte, and 6 for the prefix 0x66.  The bytes behind an opcode are random
 * operands.
 */
static const char *const forms[] = {
	"P\x90", "P\x0f\x1f", "P\x0f\x1f", "\xeb", "\xe9", "\xe8",
	"C\x70", "\x0f" "C\x80", "C\xb0", "RC\xb0", "6C\xb0", "6RC\xb0", "66C\xb0",
	"\x3c", "\x3d", "\x80" "C\xf0", "\x81" "C\xf0", "R\x80" "C\xf0", "R\x81" "C\xf0",
};

static unsigned int write_opcode_of_form(u8 *code, const char *form)
{
	static const u8 prefixes[] = { 0x66, 0x2e, 0x3e };
	unsigned int at = 0, n;

	for (; *form; form++) {
		if (*form == 'R')
			code[at++] = 0x40 | (draw_random() & 0x0f);
		else if (*form == '6')
			code[at++] = 0x66;
		else if (*form == 'C')
			code[at++] = *++form | (draw_random() & 0x0f);
		else if (*form == 'P')
			for (n = draw_random() % 4; n; n--)
				code[at++] = prefixes[draw_random() % 3];
		else
			code[at++] = *form;
	}
	return at;
}

static bool generate_next_case(struct oracle_case *test)
{
	u64 words[sizeof(*test) / 8 + 1];
	unsigned int i, at;

	if (result.compared >= wanted || generated >= wanted * CASES_PER_COMPARISON)
		return false;
	generated++;
	for (i = 0; i < ARRAY_SIZE(words); i++)
		words[i] = draw_random();
	memcpy(test, words, sizeof(*test));
	test->offset %= ORACLE_OFFSETS;
	if (draw_random() % 8 == 0)
		test->regs.sp = (unsigned long)oracle_stack + draw_random() % ORACLE_STACK_BYTES;
	at = write_opcode_of_form(test->code, forms[draw_random() % ARRAY_SIZE(forms)]);
	/*
	 * Sometimes make the operands 0 or -1, because random bytes rarely are small displacements.
	 */
	if (draw_random() % 8 == 0)
		memset(test->code + at, draw_random() & 1 ? 0 : 0xff, ORACLE_MAX - at);
	return true;
}

static void ignore_alarm(int sig)
{
}

int main(int argc, char **argv)
{
	const struct itimerval tick = { { 0, 1000 }, { 0, 1000 } }, never = { { 0 } };
	bool good;
	int err;

	wanted = argc > 1 ? strtoull(argv[1], NULL, 10) : 100000;
	state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	signal(SIGALRM, ignore_alarm);
	setitimer(ITIMER_REAL, &tick, NULL);
	err = oracle_run_cases(generate_next_case, &result);
	setitimer(ITIMER_REAL, &never, NULL);
	printf("KTAP version 1\n1..1\n");
	printf("# %llu of %llu instructions compared, %llu not supported by the decoder\n",
	       result.compared, wanted, result.refused);
	if (result.different)
		oracle_print_result(&result);
	if (err)
		printf("# error %d\n", err);
	good = !err && !result.different && result.compared == wanted;
	printf("%s 1 insn_emulated_as_executed\n", good ? "ok" : "not ok");
	return !good;
}
