// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program with a USDT probe that is guarded by a semaphore, for tests of tracers.  For each line
 * of standard input, the program hits the probe six times.  It prints how often the argument was
 * computed, and the value of the semaphore.
 */
#define _SDT_HAS_SEMAPHORES 1
#include <stdio.h>
#include <sys/sdt.h>

volatile unsigned short server_request__start_semaphore __attribute__((section(".probes")));
static int computed;

static long count_and_compute_argument(int number)
{
	computed++;
	return number * 1000L;
}

static void hit_probe(int number)
{
	if (__builtin_expect(server_request__start_semaphore, 0))
		DTRACE_PROBE2(server, request__start, number, count_and_compute_argument(number));
}

int main(void)
{
	int c, i;

	setlinebuf(stdout);
	while ((c = getchar()) != EOF) {
		if (c != '\n')
			continue;
		computed = 0;
		for (i = 1; i <= 6; i++)
			hit_probe(i);
		printf("described %d semaphore %u\n", computed, server_request__start_semaphore);
	}
	return 0;
}
