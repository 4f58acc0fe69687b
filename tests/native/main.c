// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs the test cases of tests/common and of this folder, and prints KTAP.  Arguments: the number
 * of batches of each stress test; a word, to run only cases whose names contain the word; and the
 * minimum duration of patcher_storm_of_kinds in seconds.  With the arguments --start SCENARIO, the
 * program runs a scenario of start.c or traced.c instead.
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/kernel.h>
#include <linux/mutex.h>

#include <kmarkers/patcher.h>
#include <kmarkers/user.h>

#include "../../native/output.h"
#include "../common/test.h"
#include "buffers.h"
#include "counters.h"
#include "engine.h"
#include "errnos.h"
#include "forks.h"
#include "format.h"
#include "groups.h"
#include "layout.h"
#include "copies.h"
#include "listings.h"
#include "many.h"
#include "operands.h"
#include "prefixes.h"
#include "process.h"
#include "protocol.h"
#include "pure.h"
#include "readers.h"
#include "runs.h"
#include "sdt_attach.h"
#include "sdt_types.h"
#include "start.h"
#include "tables.h"
#include "traced.h"
#include "reg_args_probes.h"
#include "words.h"

const char *const native_program_name = "test";

static unsigned int planned, number, failures;
static const char *wanted = "";

static bool is_case_selected(const struct test_case *test)
{
	return strstr(test->name, wanted);
}

static bool has_one_cpu(void)
{
	cpu_set_t allowed;

	return !sched_getaffinity(0, sizeof(allowed), &allowed) && CPU_COUNT(&allowed) == 1;
}

static void print_case_result(const struct test_case *test, const char *failed)
{
	bool skipped = failed && !strncmp(failed, "SKIP ", 5);

	if (failed && !skipped)
		printf("# %s: %s\n", test->name, failed);
	printf("%s %u %s%s%s\n", failed && !skipped ? "not ok" : "ok", ++number, test->name,
	       skipped ? " # " : "", skipped ? failed : "");
	fflush(stdout);
	failures += failed && !skipped;
}

static void run_case(const struct test_case *test)
{
	const char *failed;

	if (strstr(test->name, "storm") && has_one_cpu()) {
		print_case_result(test, "SKIP a stress test needs several CPUs");
		return;
	}
	failed = test->run();
	if (test->cleanup)
		test->cleanup();
	/* The number wraps around if a function unlocks a mutex that it has not locked. */
	if (native_mutexes_held && !failed)
		failed = "the numbers of locked and unlocked mutexes differ";
	native_mutexes_held = 0;
	if (test_stormed_ms)
		printf("# %s: the stress test took %lu.%03lu s\n", test->name, test_stormed_ms / 1000,
		       test_stormed_ms % 1000);
	test_stormed_ms = 0;
	print_case_result(test, failed);
}

static const struct {
	const struct test_case *cases;
	const unsigned int *nr;
} groups[] = {
	{ pure_cases, &pure_nr_cases },
	{ operands_cases, &operands_nr_cases },
	{ run_cases, &run_nr_cases },
	{ group_cases, &group_nr_cases },
	{ buffer_cases, &buffer_nr_cases },
	{ format_cases, &format_nr_cases },
	{ layout_cases, &layout_nr_cases },
	{ sdt_types_cases, &sdt_types_nr_cases },
	{ sdt_attach_cases, &sdt_attach_nr_cases },
	{ words_cases, &words_nr_cases },
	{ test_cases, &test_nr_cases },
	{ protocol_cases, &protocol_nr_cases },
	{ counters_cases, &counters_nr_cases },
	{ engine_cases, &engine_nr_cases },
	{ prefixes_cases, &prefixes_nr_cases },
	{ start_cases, &start_nr_cases },
	{ process_cases, &process_nr_cases },
	{ fork_cases, &fork_nr_cases },
	{ reader_cases, &reader_nr_cases },
	{ traced_cases, &traced_nr_cases },
	{ errno_cases, &errno_nr_cases },
	{ listing_cases, &listing_nr_cases },
	{ copies_cases, &copies_nr_cases },
	{ table_cases, &table_nr_cases },
	{ many_cases, &many_nr_cases },
	{ reg_args_probe_cases, &reg_args_probe_nr_cases },
};

static void for_each_case(void (*call)(const struct test_case *test))
{
	unsigned int group, i;

	for (group = 0; group < ARRAY_SIZE(groups); group++)
		for (i = 0; i < *groups[group].nr; i++)
			if (is_case_selected(&groups[group].cases[i]))
				call(&groups[group].cases[i]);
}

static void count_case(const struct test_case *test)
{
	planned++;
}

/* Run a scenario of start.c or traced.c.  Each scenario calls kmarkers_start() itself. */
static int run_scenario(const char *name)
{
	if (!strcmp(name, "uprobes"))
		return traced_by_uprobes();
	if (!strcmp(name, "debugger"))
		return traced_by_debugger();
	return start_run_scenario(name);
}

int main(int argc, char **argv)
{
	struct patcher_stats stats;

	signal(SIGTRAP, count_foreign_trap);
	if (argc == 3 && !strcmp(argv[1], "--start"))
		/* _exit() skips the leak checker, which cannot run after some scenarios. */
		_exit(run_scenario(argv[2]));
	if (argc > 1)
		test_batches = strtoul(argv[1], NULL, 10);
	if (argc > 2)
		wanted = argv[2];
	if (argc > 3)
		test_seconds = strtoul(argv[3], NULL, 10);
	printf("KTAP version 1\n");
	fflush(stdout);
	if (kmarkers_start()) {
		printf("1..0 # SKIP kmarkers_start() failed: the reason is on stderr\n");
		return 4;
	}
	for_each_case(count_case);
	printf("1..%u\n", planned);
	for_each_case(run_case);
	patcher_read_stats(&stats);
	printf("# batches %lu rounds %lu hits %lu stale %lu\n", stats.batches, stats.rounds,
	       stats.hits, stats.stale);
	return !!failures;
}
