// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program with a USDT probe behind its semaphore, for the tracers of a test kernel.  For each line
 * of its standard input it passes the probe six times and prints how often its argument was
 * computed, and the semaphore.
 */
#define _SDT_HAS_SEMAPHORES 1
#include <stdio.h>
#include <sys/sdt.h>

volatile unsigned short server_request__start_semaphore __attribute__((section(".probes")));
static int described;

static long describe(int number)
{
	described++;
	return number * 1000L;
}

static void pass_probe(int number)
{
	if (__builtin_expect(server_request__start_semaphore, 0))
		DTRACE_PROBE2(server, request__start, number, describe(number));
}

int main(void)
{
	int c, i;

	setlinebuf(stdout);
	while ((c = getchar()) != EOF) {
		if (c != '\n')
			continue;
		described = 0;
		for (i = 1; i <= 6; i++)
			pass_probe(i);
		printf("described %d semaphore %u\n", described, server_request__start_semaphore);
	}
	return 0;
}
