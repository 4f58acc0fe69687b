// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the memory for the handlers of SDT sites: what happens if an allocation fails, and
 * whether all memory is freed.
 */
#include <errno.h>
#include <string.h>

#include <linux/kernel.h>

#include <kmarkers/sdt.h>

#include "nomem.h"
#include "sdt_attach.h"

/* Upper limit of the number of allocations that one operation makes. */
#define FAR	1000
#define ALL	"attach:::*"

SDT_PROVIDER_DEFINE(attach);
SDT_PROBE_DEFINE1(attach, , , first, "int");
SDT_PROBE_DEFINE1(attach, , , second, "int");
SDT_PROBE_DEFINE1(attach, , , trapped, "int");

/* Number of calls of each handler.  The private data of a handler is the address of its number. */
static unsigned int calls[3];
static unsigned int evaluated;

static void count_call(void *private, const struct sdt_hit *hit)
{
	++*(unsigned int *)private;
}

static int count_evaluation(void)
{
	return ++evaluated;
}

static noinline void hit_sites(void)
{
	SDT_PROBE1(attach, , , first, count_evaluation());
	SDT_PROBE1(attach, , , second, count_evaluation());
	SDT_PROBE_FLAVOUR(breakpoint, attach, , , trapped, 1);
}

/*
 * Hit each site once.  Return true if the number of enabled jump sites is @enabled, and if each
 * handler was called the given number of times.  A disabled jump does not evaluate the arguments of
 * its site.
 */
static bool hit_and_check_calls(unsigned int enabled, unsigned int first, unsigned int second,
				unsigned int third)
{
	memset(calls, 0, sizeof(calls));
	evaluated = 0;
	hit_sites();
	return evaluated == enabled && calls[0] == first && calls[1] == second &&
	       calls[2] == third;
}

/*
 * Attach a handler to all sites repeatedly; in call number n, allocation number n fails.  After
 * each failure, @enabled jumps must be enabled, and the other handlers must be called @second and
 * @third times.
 */
static const char *attach_without_memory(unsigned int enabled, unsigned int second,
					 unsigned int third)
{
	bool failed = true;
	unsigned int nth;
	int err;

	for (nth = 1; nth < FAR && failed; nth++) {
		test_fail_nth_allocation(nth);
		err = sdt_attach(ALL, count_call, &calls[0]);
		failed = test_has_allocation_failed();
		test_disable_failing_allocations();
		EXPECT(err == (failed ? -ENOMEM : 0));
		if (failed) {
			EXPECT(hit_and_check_calls(enabled, 0, second, third));
			EXPECT(sdt_detach(ALL, count_call, &calls[0]) == -ENOENT);
		}
	}
	EXPECT(nth > 3 && nth < FAR);
	EXPECT(hit_and_check_calls(2, 3, second, third));
	EXPECT(!sdt_detach(ALL, count_call, &calls[0]));
	EXPECT(hit_and_check_calls(enabled, 0, second, third));
	return NULL;
}

/* Check that a handler is attached to all matching sites or, if an allocation fails, to no site. */
static const char *sdt_attaches_to_none_without_memory(void)
{
	const char *failed;

	EXPECT(!test_enable_failing_allocations());
	failed = attach_without_memory(0, 0, 0);
	if (failed)
		return failed;
	EXPECT(!sdt_attach("first", count_call, &calls[1]));
	failed = attach_without_memory(1, 1, 0);
	if (failed)
		return failed;
	EXPECT(!sdt_attach("trapped", count_call, &calls[2]));
	failed = attach_without_memory(1, 1, 1);
	if (failed)
		return failed;
	EXPECT(!sdt_attach("second", count_call, &calls[1]));
	return attach_without_memory(2, 2, 1);
}

#define TIMES	100

static int attach_and_detach_repeatedly(void)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < TIMES && !err; i++)
		err = sdt_attach(ALL, count_call, &calls[0]) ?:
		      sdt_attach("first", count_call, &calls[1]) ?:
		      sdt_detach(ALL, count_call, &calls[0]) ?:
		      sdt_detach("first", count_call, &calls[1]);
	return err;
}

/* Check that the memory for handlers is freed after they are detached. */
static const char *sdt_frees_memory_of_detached_handlers(void)
{
	return check_memory_is_freed(attach_and_detach_repeatedly);
}

static void detach_all_handlers(void)
{
	unsigned int i;

	test_disable_failing_allocations();
	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		sdt_detach(ALL, count_call, &calls[i]);
		sdt_detach("first", count_call, &calls[i]);
		sdt_detach("second", count_call, &calls[i]);
		sdt_detach("trapped", count_call, &calls[i]);
	}
	sdt_synchronize();
}

const struct test_case sdt_attach_cases[] = {
	{ "sdt_attaches_to_none_without_memory", sdt_attaches_to_none_without_memory,
	  detach_all_handlers },
	{ "sdt_frees_memory_of_detached_handlers", sdt_frees_memory_of_detached_handlers,
	  detach_all_handlers },
};

const unsigned int sdt_attach_nr_cases = ARRAY_SIZE(sdt_attach_cases);
