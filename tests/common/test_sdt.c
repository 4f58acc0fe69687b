// SPDX-License-Identifier: GPL-2.0-only
/* Tests of SDT probes, through their public interface. */
#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include <kmarkers/patcher.h>
#include <kmarkers/sdt.h>

#include "cases.h"

SDT_PROVIDER_DEFINE(test);
SDT_PROBE_DEFINE0(test, , , none);
SDT_PROBE_DEFINE2(test, , , two__words, "int", "char *");
SDT_PROBE_DEFINE1(test, given, written, named, "long");
SDT_PROBE_DEFINE7(test, , , seven, "int", "int", "int", "int", "int", "int", "int");
SDT_PROBE_DEFINE1(test, , , inlined, "int");
SDT_PROBE_DEFINE1(test, , , storm, "int");
SDT_PROBE_DEFINE1(test, , , hot, "int");

SDT_PROVIDER_DEFINE(few);
SDT_PROBE_DEFINE(few, , , untyped);
SDT_PROBE_DEFINE5(few, , , five, "int", "int", "int", "int", "int");
SDT_PROBE_DEFINE6(few, , , six, "int", "int", "int", "int", "int", "int");
SDT_PROBE_DEFINE1(few, , , padded, "char *");

static struct {
	unsigned int calls;
	struct sdt_hit last;
} seen[2];

static void record_hit(void *private, const struct sdt_hit *hit)
{
	unsigned int *i = private;

	seen[*i].calls++;
	seen[*i].last = *hit;
}

static unsigned int first = 0, second = 1;

static const char *const patterns[] = {
	"none", "test:::two-words", "seven", "named", "inlined", "storm", "test:::*",
	"few:::", "sdt:::few-of-its-own",
	"sdt_inlined_one:inlined", "sdt_inlined_two:inlined", "given::named", "hot",
};

void sdt_cleanup(void)
{
	unsigned int i;

	test_remove_breakpoint();
	for (i = 0; i < ARRAY_SIZE(patterns); i++) {
		sdt_detach(patterns[i], record_hit, &first);
		sdt_detach(patterns[i], record_hit, &second);
	}
	sdt_synchronize();
	memset(seen, 0, sizeof(seen));
}

static int evaluated;

static int count_evaluation(int value)
{
	evaluated++;
	return value;
}

static noinline void hit_probe_without_args(void)
{
	SDT_PROBE0(test, , , none);
}

static noinline void hit_probe_with_dashed_name(int number, const char *text)
{
	SDT_PROBE2(test, , , two__words, count_evaluation(number), text);
}

const char *sdt_calls_handlers(void)
{
	static const char text[] = "text";

	evaluated = 0;
	hit_probe_without_args();
	hit_probe_with_dashed_name(-3, text);
	EXPECT(!evaluated && !seen[0].calls);
	EXPECT(!sdt_attach("none", record_hit, &first));
	EXPECT(!sdt_attach("test:::two-words", record_hit, &second));
	hit_probe_without_args();
	EXPECT(seen[0].calls == 1 && !seen[1].calls && !seen[0].last.nr);
	EXPECT(sdt_hit_probe(&seen[0].last) == &sdt_test___none);
	hit_probe_with_dashed_name(-3, text);
	EXPECT(evaluated == 1 && seen[0].calls == 1 && seen[1].calls == 1);
	EXPECT(seen[1].last.nr == 2 && (int)seen[1].last.args[0] == -3);
	EXPECT((long)seen[1].last.args[0] == -3 && seen[1].last.args[1] == (unsigned long)text);

	/* Attach a second handler to the same site, then detach the first handler. */
	EXPECT(!sdt_attach("test:::*", record_hit, &first));
	hit_probe_with_dashed_name(4, text);
	EXPECT(seen[0].calls == 2 && seen[1].calls == 2);
	EXPECT(!sdt_detach("test:::two-words", record_hit, &second));
	hit_probe_with_dashed_name(5, text);
	EXPECT(seen[0].calls == 3 && seen[1].calls == 2);
	/* A handler that is attached by two patterns is called once for each pattern. */
	hit_probe_without_args();
	EXPECT(seen[0].calls == 5);
	EXPECT(!sdt_detach("none", record_hit, &first));
	EXPECT(!sdt_detach("test:::*", record_hit, &first));
	hit_probe_without_args();
	hit_probe_with_dashed_name(6, text);
	EXPECT(seen[0].calls == 5 && evaluated == 3);
	return NULL;
}

/* Return address of the last call of record_caller(). */
static const void *caller;

static noinline void record_caller(void *private, const struct sdt_hit *hit)
{
	caller = __builtin_return_address(0);
}

static noinline void ignore_caller(void *private, const struct sdt_hit *hit)
{
	barrier();
}

/* Check that record_caller() has another caller while a second handler is attached. */
static const char *check_caller_of_handler(void)
{
	const void *alone;

	EXPECT(!sdt_attach("none", record_caller, NULL));
	hit_probe_without_args();
	alone = caller;
	EXPECT(alone);
	EXPECT(!sdt_attach("none", ignore_caller, NULL));
	hit_probe_without_args();
	EXPECT(caller != alone);
	EXPECT(!sdt_detach("none", ignore_caller, NULL));
	hit_probe_without_args();
	EXPECT(caller == alone);
	return NULL;
}

/* The only handler of a site is called directly, even if another handler was attached before. */
const char *sdt_calls_single_handler_directly(void)
{
	const char *failed = check_caller_of_handler();

	sdt_detach("none", record_caller, NULL);
	sdt_detach("none", ignore_caller, NULL);
	sdt_synchronize();
	return failed;
}

const char *sdt_reports_errors(void)
{
	static const char long_pattern[300] = { [0 ... 298] = 'x' };

	EXPECT(sdt_attach("a:b:c:d:e", record_hit, &first) == -EINVAL);
	EXPECT(sdt_attach("none", NULL, &first) == -EINVAL);
	EXPECT(sdt_attach(NULL, record_hit, &first) == -EINVAL);
	EXPECT(sdt_attach("none@1", record_hit, &first) == -EINVAL);
	EXPECT(sdt_attach("none@+", record_hit, &first) == -EINVAL);
	EXPECT(sdt_attach("none@+1z", record_hit, &first) == -EINVAL);
	EXPECT(sdt_attach(long_pattern, record_hit, &first) == -EINVAL);
	EXPECT(sdt_detach("none", record_hit, &first) == -ENOENT);
	EXPECT(!sdt_attach("none", record_hit, &first));
	EXPECT(sdt_attach("none", record_hit, &first) == -EBUSY);
	EXPECT(!sdt_attach("none", record_hit, &second));
	EXPECT(sdt_detach("test:::none", record_hit, &first) == -ENOENT);
	hit_probe_without_args();
	EXPECT(seen[0].calls == 1 && seen[1].calls == 1);
	return NULL;
}

static noinline void hit_probe_with_given_names(long number)
{
	SDT_PROBE1(test, given, written, named, number);
}

/* A function that is inlined twice: each copy of the site belongs to the calling function. */
static __always_inline void hit_probe_inlined(int number)
{
	SDT_PROBE1(test, , , inlined, number);
}

static noinline int sdt_inlined_one(int number)
{
	hit_probe_inlined(number);
	return number + 1;
}

static noinline int sdt_inlined_two(int number)
{
	hit_probe_inlined(number);
	return number + 2;
}

const char *sdt_finds_functions_of_inlined_copies(void)
{
	EXPECT(!sdt_attach("sdt_inlined_one:inlined", record_hit, &first));
	EXPECT(!sdt_attach("sdt_inlined_two:inlined", record_hit, &second));
	sdt_inlined_one(1);
	EXPECT(seen[0].calls == 1 && !seen[1].calls && seen[0].last.args[0] == 1);
	sdt_inlined_two(2);
	EXPECT(seen[0].calls == 1 && seen[1].calls == 1 && seen[1].last.args[0] == 2);
	EXPECT(sdt_hit_ip(&seen[0].last) != sdt_hit_ip(&seen[1].last));
	EXPECT(!sdt_detach("sdt_inlined_one:inlined", record_hit, &first));
	EXPECT(!sdt_detach("sdt_inlined_two:inlined", record_hit, &second));
	/*
	 * A hit of a copy calls the handler that is attached to both copies, and the handler that
	 * is attached to this copy alone.
	 */
	EXPECT(!sdt_attach("inlined", record_hit, &first));
	EXPECT(!sdt_attach("sdt_inlined_one:inlined", record_hit, &first));
	EXPECT(!sdt_attach("sdt_inlined_two:inlined", record_hit, &second));
	memset(seen, 0, sizeof(seen));
	sdt_inlined_one(3);
	EXPECT(seen[0].calls == 2 && !seen[1].calls);
	sdt_inlined_two(4);
	EXPECT(seen[0].calls == 3 && seen[1].calls == 1 && seen[1].last.args[0] == 4);
	memset(seen, 0, sizeof(seen));
	/* A pattern matches the module named in the probe's definition, not the site's module. */
	EXPECT(!sdt_attach("given::named", record_hit, &first));
	hit_probe_with_given_names(7);
	EXPECT(seen[0].calls == 1 && seen[0].last.args[0] == 7);
	return NULL;
}

static noinline void hit_probe_with_seven_args(int n)
{
	SDT_PROBE7(test, , , seven, n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6);
	SDT_PROBE_FLAVOUR(breakpoint, test, , , seven, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6,
			  n + 7);
	SDT_PROBE_FLAVOUR(nop, test, , , seven, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7, n + 8);
	SDT_PROBE_FLAVOUR(split, test, , , seven, n + 3, n + 4, n + 5, n + 6, n + 7, n + 8, n + 9);
}

static unsigned int arguments_wrong;

static void check_seven_arguments(void *private, const struct sdt_hit *hit)
{
	unsigned int i, *calls = private;

	for (i = 0; i < 7; i++)
		arguments_wrong += hit->args[i] != 40 + *calls + i;
	++*calls;
}

const char *sdt_sites_of_every_flavour_call_handlers(void)
{
	unsigned int calls = 0;

	arguments_wrong = 0;
	hit_probe_with_seven_args(40);
	EXPECT(!sdt_attach("seven", check_seven_arguments, &calls));
	hit_probe_with_seven_args(40);
	sdt_detach("seven", check_seven_arguments, &calls);
	EXPECT(calls == 4);
	EXPECT(!arguments_wrong);
	hit_probe_with_seven_args(40);
	EXPECT(calls == 4);
	return NULL;
}

/* Execute sites that pass fewer arguments than their probe has, as some sites in FreeBSD do. */
static noinline void hit_sites_with_missing_args(int n, const char *text)
{
	SDT_PROBE0(few, , , untyped);
	SDT_PROBE2(few, , , untyped, text, n);
	SDT_PROBE3(few, , , five, n, n + 1, n + 2);
	SDT_PROBE_FLAVOUR(breakpoint, few, , , five, n, n + 1);
	SDT_PROBE_FLAVOUR(nop, few, , , five, n);
	SDT_PROBE(few, , , padded, text, 0, 0, 0, 0);
	SDT_PROBE(few, , , five, n, n + 1, n + 2, n + 3, NULL);
	SDT_PROBE(few, , , five, 0, 0, 0, 0, 0);
	SDT_PROBE(few, , , untyped, 0, 0, 0, 0, n + 4);
	SDT_PROBE6(few, , , six, n, n + 1, n + 2, n + 3, n + 4, n + 5);
}

static noinline void hit_dtrace_probe(int n, const char *text)
{
	DTRACE_PROBE2(few__of__its__own, int, n, const char *, text);
}

/* Arguments of the sites of hit_sites_with_missing_args(), in order.  -1 stands for few_text. */
static const struct {
	unsigned int nr;
	int args[SDT_MAX_ARGS];
} few[] = {
	{ 0 },
	{ 2, { -1, 40 } },
	{ 3, { 40, 41, 42 } },
	{ 2, { 40, 41 } },
	{ 1, { 40 } },
	{ 1, { -1 } },
	{ 4, { 40, 41, 42, 43 } },
	{ 1 },
	{ 5, { 0, 0, 0, 0, 44 } },
	{ 6, { 40, 41, 42, 43, 44, 45 } },
};

static const char few_text[] = "text";

static void check_fewer_arguments(void *private, const struct sdt_hit *hit)
{
	unsigned int i, *calls = private;

	arguments_wrong += *calls >= ARRAY_SIZE(few) || hit->nr != few[*calls].nr;
	for (i = 0; i < hit->nr && *calls < ARRAY_SIZE(few); i++)
		arguments_wrong += hit->args[i] !=
			(few[*calls].args[i] < 0 ? (unsigned long)few_text : few[*calls].args[i]);
	++*calls;
}

const char *sdt_passes_fewer_arguments(void)
{
	unsigned int calls = 0;

	arguments_wrong = 0;
	EXPECT(!sdt_attach("few:::", check_fewer_arguments, &calls));
	hit_sites_with_missing_args(40, few_text);
	EXPECT(!sdt_detach("few:::", check_fewer_arguments, &calls));
	EXPECT(calls == ARRAY_SIZE(few) && !arguments_wrong);
	EXPECT(!sdt_attach("sdt:::few-of-its-own", record_hit, &first));
	hit_dtrace_probe(7, few_text);
	EXPECT(seen[0].calls == 1 && seen[0].last.nr == 2 && seen[0].last.args[0] == 7);
	EXPECT(seen[0].last.args[1] == (unsigned long)few_text);
	EXPECT(!strcmp(sdt_hit_probe(&seen[0].last)->types, "int,const char *"));
	EXPECT(!strcmp(sdt_hit_probe(&seen[0].last)->provider->name, "sdt"));
	return NULL;
}

static unsigned long read_number_of_rounds(void)
{
	struct patcher_stats stats;

	patcher_read_stats(&stats);
	return stats.rounds;
}

/*
 * Whatever the number of sites, setting breakpoints takes one IPI round, and writing jumps takes
 * three IPI rounds.
 */
const char *sdt_rounds_do_not_depend_on_sites(void)
{
	unsigned long before = read_number_of_rounds();

	EXPECT(!sdt_attach("none", record_hit, &first));
	EXPECT(read_number_of_rounds() == before + 3);
	EXPECT(!sdt_attach("test:::*", record_hit, &first));
	EXPECT(read_number_of_rounds() == before + 3 + 3 + 1);
	/*
	 * The next two calls change no site: the pattern "test:::*" keeps all sites of the provider
	 * test enabled.
	 */
	EXPECT(!sdt_attach("inlined", record_hit, &first));
	EXPECT(!sdt_detach("none", record_hit, &first));
	EXPECT(read_number_of_rounds() == before + 7);
	EXPECT(!sdt_detach("inlined", record_hit, &first));
	EXPECT(!sdt_detach("test:::*", record_hit, &first));
	EXPECT(read_number_of_rounds() == before + 11);
	return NULL;
}

static noinline void hit_breakpoint_site(int number)
{
	SDT_PROBE_FLAVOUR(breakpoint, test, , , hot, number);
}

const char *sdt_promotes_breakpoints(void)
{
	const u8 *site;
	unsigned long before;

	EXPECT(sdt_promote("hot@", true) == -EINVAL);
	EXPECT(sdt_promote("nowhere", true) == -ENOENT);
	/* Some matching sites have the flavour "nop" or "split", and cannot hold a jump. */
	EXPECT(sdt_promote("seven", true) == -EINVAL);
	EXPECT(!sdt_attach("hot", record_hit, &first));
	hit_breakpoint_site(1);
	EXPECT(seen[0].calls == 1);
	site = (const u8 *)sdt_hit_ip(&seen[0].last);
	EXPECT(site[0] == 0xcc);
	before = read_number_of_rounds();
	EXPECT(!sdt_promote("hot", true));
	EXPECT(read_number_of_rounds() == before + 3 && site[0] == 0x2e);
	hit_breakpoint_site(2);
	EXPECT(seen[0].calls == 2 && seen[0].last.args[0] == 2);
	EXPECT(sdt_hit_ip(&seen[0].last) == (unsigned long)site);
	EXPECT(!sdt_promote("hot", false));
	EXPECT(read_number_of_rounds() == before + 4 && site[0] == 0xcc);
	hit_breakpoint_site(3);
	EXPECT(seen[0].calls == 3 && seen[0].last.args[0] == 3);
	EXPECT(!sdt_attach("hot", record_hit, &second));
	hit_breakpoint_site(5);
	EXPECT(seen[0].calls == 4 && seen[1].calls == 1 && seen[1].last.args[0] == 5);
	EXPECT(!sdt_detach("hot", record_hit, &second));
	EXPECT(!sdt_detach("hot", record_hit, &first));
	EXPECT(site[0] == 0x0f && site[1] == 0x1f && site[2] == 0xa9);
	hit_breakpoint_site(4);
	EXPECT(seen[0].calls == 4 && seen[1].calls == 1);
	return NULL;
}

/* A site with a breakpoint of other code cannot be disabled; this does not affect other sites. */
const char *sdt_disables_sites_beside_foreign_int3(void)
{
	const u8 *other;
	int off, on, again, back, leave;
	u8 *site;

	EXPECT(!sdt_attach("test:::*", record_hit, &first));
	hit_probe_with_given_names(1);
	other = (const u8 *)sdt_hit_ip(&seen[0].last);
	hit_probe_without_args();
	site = (u8 *)sdt_hit_ip(&seen[0].last);
	EXPECT(site[0] == 0x2e && other[0] == 0x2e);
	EXPECT(!test_plant_breakpoint(site));
	off = sdt_detach("test:::*", record_hit, &first);
	on = sdt_attach("named", record_hit, &second);
	hit_probe_with_given_names(2);
	/* The site with the breakpoint stays enabled. */
	again = sdt_detach("named", record_hit, &second);
	/*
	 * After the site had a handler again, a failure to disable the site is reported a second
	 * time.
	 */
	back = sdt_attach("none", record_hit, &second);
	leave = sdt_detach("none", record_hit, &second);
	EXPECT(!test_remove_breakpoint());
	EXPECT(off && !on && !again && !back && leave == off);
	EXPECT(seen[0].calls == 2 && seen[1].calls == 1);
	EXPECT(site[0] == 0x2e && other[0] == 0x0f);
	hit_probe_without_args();
	EXPECT(seen[0].calls == 2);
	EXPECT(!sdt_attach("named", record_hit, &second));
	EXPECT(!sdt_detach("named", record_hit, &second));
	EXPECT(site[0] == 0x0f);
	return NULL;
}

static atomic_long_t hits;

static void count_hit(void *private, const struct sdt_hit *hit)
{
	atomic_long_inc(&hits);
}

static void ignore_hit(void *private, const struct sdt_hit *hit)
{
}

static void hit_storm_sites(void)
{
	SDT_PROBE1(test, , , storm, 1);
	SDT_PROBE_FLAVOUR(breakpoint, test, , , storm, 2);
	SDT_PROBE_FLAVOUR(nop, test, , , storm, 3);
	SDT_PROBE_FLAVOUR(breakpoint, test, , , hot, 4);
}

/*
 * Every execution of a site must call count_hit() exactly once, while ignore_hit() is attached and
 * detached, and a site is promoted from a breakpoint to a jump and demoted again.
 */
const char *sdt_storm_exactly_once(void)
{
	unsigned long passes;
	unsigned int i;
	int err = 0;

	atomic_long_set(&hits, 0);
	EXPECT(!sdt_attach("storm", count_hit, NULL));
	EXPECT(!sdt_attach("hot", count_hit, NULL));
	err = test_start_threads(hit_storm_sites);
	for (i = 0; i < test_batches / 16 && !err; i++) {
		err = sdt_attach("test:::*", ignore_hit, NULL) ?: sdt_promote("hot", true) ?:
		      sdt_detach("test:::*", ignore_hit, NULL) ?: sdt_promote("hot", false);
		if (!(i % 16))
			test_wait_for_new_pass_of_threads();
	}
	passes = test_stop_threads();
	sdt_detach("test:::*", ignore_hit, NULL);
	sdt_detach("storm", count_hit, NULL);
	sdt_detach("hot", count_hit, NULL);
	EXPECT(!err && passes);
	EXPECT(atomic_long_read(&hits) == 4 * passes);
	return NULL;
}
