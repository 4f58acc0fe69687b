// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of SDT sites in functions in which the compiler duplicates, moves or merges the code that
 * calls the handlers.  First the functions are called while all sites are enabled, to count the
 * hits of each site.  Then a handler is attached to each site, once while all other sites are
 * disabled, and once while all other sites are enabled.  test_sdt_copies.py compiles this file
 * alone with several compilers (COPIES_ALONE).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <kmarkers/user.h>
#include <kmarkers/patcher.h>
#include <kmarkers/sdt.h>

#ifndef COPIES_ALONE
#include "copies.h"
#endif

SDT_PROVIDER_DEFINE(copies);
SDT_PROBE_DEFINE0(copies, , , nothing);
SDT_PROBE_DEFINE1(copies, , , single, "long");
SDT_PROBE_DEFINE2(copies, , , pair, "long", "long");
SDT_PROBE_DEFINE7(copies, , , whole, "long", "long", "long", "long", "long", "long", "long");

/* The records of all sites of the program. */
extern struct patcher_site __start_kmarkers_sdt[], __stop_kmarkers_sdt[];

static volatile long sink;
static long table[8] = { 3, 1, 4, 1, 5, 0, 2, 6 };

static noinline void add_to_sink(long a)
{
	sink += a;
}

static noinline void subtract_from_sink(long a)
{
	sink -= a;
}

static __cold noinline long xor_to_sink(long a)
{
	sink ^= a;
	return sink + a;
}

static __always_inline void hit_jump(long a, long b)
{
	SDT_PROBE2(copies, , , pair, a, b);
}

static __always_inline void hit_without_arguments(void)
{
	SDT_PROBE0(copies, , , nothing);
}

static __always_inline void hit_breakpoint(long a, long b)
{
	SDT_PROBE_FLAVOUR(breakpoint, copies, , , pair, a, b);
}

static __always_inline long hit_nested(long a)
{
	SDT_PROBE1(copies, , , single, a);
	return table[a & 7];
}

static __always_inline long choose_value(long a)
{
	return table[a & 7] > 2 ? xor_to_sink(a) : table[(a + 1) & 7];
}

static __always_inline long sum_table(long a)
{
	long i, total = 0;

	for (i = 0; i < (a & 3); i++)
		total += table[i] * xor_to_sink(i);
	return total;
}

/* Define a function with two branches that end with similar code, which compilers may merge. */
#define ARMS(name, site, otherwise)				\
static noinline void name(long a, long b, long c)			\
{								\
	if (c & 1) {						\
		add_to_sink(a);					\
		site;						\
	} else {						\
		subtract_from_sink(b);					\
		otherwise;					\
	}							\
}

ARMS(arms_jump, hit_jump(a, b), hit_jump(b, a))
ARMS(arms_same, hit_jump(a, b), hit_jump(a, b))
ARMS(arms_bare, hit_without_arguments(), hit_without_arguments())
ARMS(arms_constant, hit_jump(a, 5), hit_jump(table[b & 7], 5))
ARMS(arms_breakpoint, hit_breakpoint(a, b), hit_breakpoint(a, b))
ARMS(arms_memory, hit_breakpoint(table[a & 7], 5), hit_breakpoint(table[b & 7], 5))
ARMS(arms_nested, hit_jump(hit_nested(a), b), hit_jump(hit_nested(a), b))
ARMS(arms_nested_breakpoint, hit_breakpoint(hit_nested(a), b), hit_breakpoint(hit_nested(a), b))

static noinline void hit_in_switch(long a, long b, long c)
{
	switch (c & 3) {
	case 0:
		add_to_sink(a);
		hit_without_arguments();
		break;
	case 1:
		subtract_from_sink(a);
		hit_without_arguments();
		break;
	case 2:
		add_to_sink(a + b);
		hit_without_arguments();
		break;
	}
	subtract_from_sink(c);
}

static noinline void hit_before_returns(long a, long b, long c)
{
	if (c == 1) {
		add_to_sink(a);
		hit_without_arguments();
		return;
	}
	if (c == 2) {
		subtract_from_sink(a);
		hit_without_arguments();
		return;
	}
	add_to_sink(b);
}

/*
 * A loop that the compiler may unroll, and two equal conditions that the compiler may evaluate
 * once.
 */
static noinline void hit_in_short_loop(long a, long b, long c)
{
	long i;

	for (i = 0; i < 4; i++) {
		hit_jump(i, b);
		add_to_sink(i);
	}
	if (c & 1)
		a += 3;
	hit_jump(a, b);
	if (c & 1)
		add_to_sink(a);
}

static noinline void pass_complex_arguments(long a, long b, long c)
{
	SDT_PROBE2(copies, , , pair, choose_value(a), sum_table(b));
	add_to_sink(a);
	SDT_PROBE2(copies, , , pair, sum_table(a), choose_value(b));
	subtract_from_sink(c);
	SDT_PROBE2(copies, , , pair, a ? hit_nested(b) : 7,
		   __builtin_expect(b, 0) ? xor_to_sink(b) : table[a & 7]);
}

static noinline void hit_nested_sites(long a, long b, long c)
{
	SDT_PROBE2(copies, , , pair, hit_nested(a), hit_nested(b));
	add_to_sink(a);
	SDT_PROBE2(copies, , , pair, hit_nested(hit_nested(c)), hit_nested(b));
	SDT_PROBE7(copies, , , whole, hit_nested(a), b, c, a, hit_nested(b), b, hit_nested(c));
}

static noinline void hit_in_loop(long a, long b, long c)
{
	long i;

	for (i = 0; i < (c & 7); i++) {
		SDT_PROBE2(copies, , , pair, choose_value(i), i);
		if (table[i] & 1) {
			SDT_PROBE2(copies, , , pair, i ? xor_to_sink(i) : table[1], sum_table(b));
			continue;
		}
		add_to_sink(i);
	}
}

static __cold noinline void hit_in_cold_function(long a, long b, long c)
{
	if (c & 1)
		SDT_PROBE2(copies, , , pair, choose_value(a), b);
	else
		SDT_PROBE2(copies, , , pair, sum_table(a), choose_value(b));
}

#define FUNCTION(name)	{ #name, name }

static const struct {
	const char *name;
	void (*call)(long a, long b, long c);
} functions[] = {
	FUNCTION(arms_jump), FUNCTION(arms_same), FUNCTION(arms_bare), FUNCTION(arms_constant),
	FUNCTION(arms_breakpoint), FUNCTION(arms_memory), FUNCTION(arms_nested),
	FUNCTION(arms_nested_breakpoint), FUNCTION(hit_in_switch), FUNCTION(hit_before_returns),
	FUNCTION(hit_in_short_loop), FUNCTION(pass_complex_arguments),
	FUNCTION(hit_nested_sites), FUNCTION(hit_in_loop), FUNCTION(hit_in_cold_function),
};

#define MOST	1000

struct hits {
	unsigned int nr;
	unsigned long ip[MOST];
};

static struct hits all, some;

static void record_ip(void *private, const struct sdt_hit *hit)
{
	struct hits *hits = private;

	if (hits->nr < MOST)
		hits->ip[hits->nr++] = sdt_hit_ip(hit);
}

static void call_all_functions(void)
{
	unsigned int i;
	long c;

	for (i = 0; i < ARRAY_SIZE(functions); i++)
		for (c = 0; c < 4; c++)
			functions[i].call(c + 1, 2 * c, c);
}

/* A text symbol of the program, and the address of the symbol in the running program. */
struct symbol {
	unsigned long addr;
	char name[64];
};

/* The symbols, sorted by address. */
static struct symbol *symbols;
static unsigned int nr_symbols;

/*
 * Read the program's symbols from the output of nm.  The symbols are needed because the compiler
 * may put a site into a split-off part of its function, far away from the function.  Return false
 * on error.
 */
static bool read_symbols(void)
{
	unsigned long first = 0;
	struct symbol *grown;
	char line[1000];
	unsigned int i;
	FILE *nm;

	if (nr_symbols)
		return true;
	snprintf(line, sizeof(line), "nm -n /proc/%d/exe", (int)getpid());
	nm = popen(line, "r");
	while (nm && fgets(line, sizeof(line), nm)) {
		grown = realloc(symbols, (nr_symbols + 1) * sizeof(*symbols));
		if (!grown)
			break;
		symbols = grown;
		if (sscanf(line, "%lx %*1[tT] %63s", &grown[nr_symbols].addr,
			   grown[nr_symbols].name) != 2)
			continue;
		if (!strcmp(grown[nr_symbols].name, functions[0].name))
			first = grown[nr_symbols].addr;
		nr_symbols++;
	}
	if (nm)
		pclose(nm);
	for (i = 0; i < nr_symbols; i++)
		symbols[i].addr += (unsigned long)functions[0].call - first;
	return first;
}

/* Write to @text a pattern that matches only the site at @ip. */
static void format_site_pattern(char *text, size_t size, unsigned long ip)
{
	unsigned int i = 0;

	while (i + 1 < nr_symbols && symbols[i + 1].addr <= ip)
		i++;
	snprintf(text, size, "copies::%.*s:@+0x%lx", (int)strcspn(symbols[i].name, "."),
		 symbols[i].name, ip - symbols[i].addr);
}

static void ignore_hit(void *private, const struct sdt_hit *hit)
{
}

/*
 * Number of checked sites that are copies: hits of a copy are reported as hits of the site that was
 * copied.
 */
static unsigned int nr_copies;

/*
 * Attach a handler to @pattern, which matches only the site at @ip.  Check that the handler gets as
 * many hits of the site as when all sites were enabled, and no hits of other sites.  Hits of a copy
 * are reported as hits of the site that was copied.  If the check fails, print an error with the
 * text @when.  Return the number of errors, 0 or 1.
 */
static int check_hits_of_site(const char *pattern, const char *when, unsigned long ip)
{
	unsigned int i, nr = 0, wrong = 0;
	unsigned long own = ip;

	some.nr = 0;
	if (sdt_attach(pattern, record_ip, &some)) {
		printf("# %s: cannot attach a handler\n", pattern);
		return 1;
	}
	call_all_functions();
	if (sdt_detach(pattern, record_ip, &some)) {
		printf("# %s: cannot detach the handler\n", pattern);
		return 1;
	}
	if (some.nr)
		ip = some.ip[0];
	nr_copies += ip != own;
	for (i = 0; i < some.nr; i++)
		wrong += some.ip[i] != ip;
	for (i = 0; i < all.nr; i++)
		nr += all.ip[i] == ip;
	if (nr == some.nr && !wrong)
		return 0;
	printf("# %s: %u hits %s, %u of these hits at other sites; expected %u hits\n", pattern,
	       some.nr, when, wrong, nr);
	return 1;
}

/*
 * Return the probe of a site.  Jumps and breakpoints have a key that refers to a struct sdt_origin.
 */
static const struct sdt_probe *find_probe_of_site(const struct patcher_site *site)
{
	if (site->size != SDT_JUMP && site->size != SDT_BREAKPOINT)
		return (const struct sdt_probe *)patcher_site_key(site);
	return ((const struct sdt_origin *)patcher_site_key(site))->probe;
}

/*
 * Check one site while all other sites are disabled, then while all other sites are enabled.  The
 * first check leaves out sites of the probe "single", which are inside arguments of other sites:
 * arguments are evaluated only while their site is enabled.
 */
static int check_hits_among_off_and_on_sites(const struct patcher_site *site)
{
	unsigned long ip = patcher_site_addr(site);
	char pattern[100];
	int failed = 0;

	format_site_pattern(pattern, sizeof(pattern), ip);
	if (find_probe_of_site(site) != &sdt_copies___single)
		failed += check_hits_of_site(pattern, "while the others are off", ip);
	if (sdt_attach("copies:::*", ignore_hit, NULL))
		return 1;
	failed += check_hits_of_site(pattern, "while the others are on", ip);
	if (sdt_detach("copies:::*", ignore_hit, NULL))
		return 1;
	return failed;
}

/* Check all sites and print errors.  Return the number of errors. */
static unsigned int check_hits_of_all_sites(void)
{
	const struct patcher_site *site;
	unsigned int wrong = 0, nr = 0;

	if (!read_symbols()) {
		printf("# nm cannot read the symbols of the program\n");
		return 1;
	}
	all.nr = 0;
	if (sdt_attach("copies:::*", record_ip, &all))
		return 1;
	call_all_functions();
	if (sdt_detach("copies:::*", record_ip, &all))
		return 1;
	for (site = __start_kmarkers_sdt; site < __stop_kmarkers_sdt; site++) {
		if (find_probe_of_site(site)->provider != &sdt_provider_copies)
			continue;
		wrong += check_hits_among_off_and_on_sites(site);
		nr++;
	}
	printf("# %u sites, %u hits, %u copied sites, %u sites with wrong hits\n", nr, all.nr,
	       nr_copies, wrong);
	return wrong;
}

#ifdef COPIES_ALONE
int main(void)
{
	return kmarkers_start() || check_hits_of_all_sites();
}
#else
static const char *sdt_counts_hits_in_duplicated_code(void)
{
	EXPECT(!check_hits_of_all_sites());
	return NULL;
}

static void detach_copies_handlers(void)
{
	sdt_detach("copies:::*", ignore_hit, NULL);
	sdt_synchronize();
}

const struct test_case copies_cases[] = {
	{ "sdt_counts_hits_in_duplicated_code", sdt_counts_hits_in_duplicated_code,
	  detach_copies_handlers },
};

const unsigned int copies_nr_cases = ARRAY_SIZE(copies_cases);
#endif
