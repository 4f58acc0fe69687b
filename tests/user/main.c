// SPDX-License-Identifier: GPL-2.0-only
/* Runs the common cases and those of the pure parts in user space, and prints KTAP. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kmarkers/patcher.h>

#include <kmarkers/user.h>
#include "../common/test.h"
#include "pure.h"

static unsigned int number, failures;

static void run_case(const struct test_case *test)
{
	const char *failed = test->run();

	if (test->cleanup)
		test->cleanup();
	if (failed)
		printf("# %s: %s\n", test->name, failed);
	printf("%s %u %s\n", failed ? "not ok" : "ok", ++number, test->name);
	fflush(stdout);
	failures += !!failed;
}

int main(int argc, char **argv)
{
	struct patcher_stats stats;
	unsigned int i;

	if (argc > 1)
		test_batches = strtoul(argv[1], NULL, 0);
	if (kmarkers_start())
		return 2;
	printf("KTAP version 1\n1..%u\n", test_nr_cases + pure_nr_cases);
	for (i = 0; i < pure_nr_cases; i++)
		run_case(&pure_cases[i]);
	for (i = 0; i < test_nr_cases; i++)
		run_case(&test_cases[i]);
	patcher_read_stats(&stats);
	printf("# batches %lu rounds %lu hits %lu stale %lu\n", stats.batches, stats.rounds,
	       stats.hits, stats.stale);
	return !!failures;
}
