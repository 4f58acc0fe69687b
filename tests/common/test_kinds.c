// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stress tests of the patcher, with sites for every kind of instruction, and with runs, which are
 * sites of several instructions.  Also tests in which LOCK and DS prefixes are exchanged.
 */
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/timekeeping.h>

#include <kmarkers/patcher.h>

#include "cases.h"
#include "kinds.h"

#define MAX_SITES	2048
#define MANY		2000
#define FEW		64

static const char owner[] = "test_kinds";
static struct patcher_site sites[MAX_SITES];
static struct patcher_table table = { .sites = sites, .owner = owner };
static struct patcher_poke pokes[MAX_SITES];
static const struct kinds_record *records, *records_end;
/* state[i] is 0 if site i holds its first instruction, 1 if site i holds its second instruction. */
static u8 state[MAX_SITES];
static bool registered;

static unsigned int count_site_records(void)
{
	return records_end - records;
}

static int register_records(const struct kinds_record *first, const struct kinds_record *end,
			    u16 flags)
{
	int err;

	records = first;
	records_end = end;
	for (table.nr = 0; first < end; first++, table.nr++) {
		struct patcher_site *site = &sites[table.nr];

		site->addr = (long)kinds_get_site_addr(first) - (long)&site->addr;
		site->key = 0;
		site->len = flags & PATCHER_SITE_PREFIX ? 1 : kinds_get_site_len(first);
		site->flags = flags;
	}
	table.module = THIS_MODULE;
	memset(state, 0, sizeof(state));
	err = patcher_register(&table);
	registered = !err;
	return err;
}

/* Fill in @poke to replace the instruction of site number @site by the site's other instruction. */
static void fill_poke(struct patcher_poke *poke, unsigned int site)
{
	const struct kinds_record *record = &records[site];

	memset(poke, 0, sizeof(*poke));
	poke->addr = kinds_get_site_addr(record);
	poke->len = kinds_get_site_len(record);
	kinds_write_insn(record, state[site], poke->old);
	kinds_write_insn(record, !state[site], poke->new);
}

/*
 * Change each of @nr sites to its other instruction, @chunk_size sites at a time.  The first site
 * is number @first; after the last site, the numbers continue with 0.
 */
static int flip_sites(unsigned int first, unsigned int nr, unsigned int chunk_size)
{
	unsigned int i, all = count_site_records();
	int err;

	for (i = 0; i < nr; i++)
		fill_poke(&pokes[i], (first + i) % all);
	err = patcher_apply_chunked(owner, pokes, nr, chunk_size);
	for (i = 0; i < nr && !err; i++)
		state[(first + i) % all] ^= 1;
	return err;
}

static int flip_all_sites(void)
{
	return flip_sites(0, count_site_records(), count_site_records());
}

/* Restore the first instruction, with which the site was compiled, at all sites. */
static int restore_first_insns(void)
{
	unsigned int i, nr = 0;
	int err;

	for (i = 0; i < count_site_records(); i++)
		if (state[i])
			fill_poke(&pokes[nr++], i);
	err = nr ? patcher_apply(owner, pokes, nr) : 0;
	if (!err)
		memset(state, 0, sizeof(state));
	return err;
}

void kinds_cleanup(void)
{
	if (!registered)
		return;
	restore_first_insns();
	patcher_unregister(&table);
	registered = false;
}

/* Number of latest flips (batches of changes) for which the expected results are kept. */
#define KEPT	4

/* Expected result of each pass after each of the last KEPT flips. */
static u64 expected[KEPT][NR_PASSES];
/* Number of results of each pass that were compared with @expected, and number of wrong results. */
static unsigned long compared[NR_PASSES], wrong;
/* Number of flips that have begun, and number of flips that have ended. */
static unsigned long started, done;
/* The passes of the current stress test: from first_pass to end_pass - 1. */
static unsigned int first_pass, end_pass;

/*
 * Execute each pass and check that each site held one of its two instructions.  If @started after
 * the pass equals @done before the pass, no site has changed meanwhile: the pass must return the
 * expected result.
 */
static void check_passes_during_flips(void)
{
	unsigned long low;
	unsigned int i;
	u64 seen, right;

	for (i = first_pass; i < end_pass; i++) {
		low = smp_load_acquire(&done);
		seen = kinds_execute_pass(i);
		/* Read this result before @started: later flips may overwrite the result. */
		right = smp_load_acquire(&expected[low % KEPT][i]);
		if (!kinds_is_possible_result(i, seen))
			WRITE_ONCE(wrong, wrong + 1);
		if (low != READ_ONCE(started))
			continue;
		WRITE_ONCE(compared[i], READ_ONCE(compared[i]) + 1);
		if (seen != right)
			WRITE_ONCE(wrong, wrong + 1);
	}
}

static u64 compute_expected_result(unsigned int pass)
{
	return kinds_compute_expected_result(pass, records, count_site_records(), state);
}

/* Store the expected results after @flips flips. */
static void store_expected_results(unsigned long flips)
{
	unsigned int i;

	for (i = first_pass; i < end_pass; i++)
		WRITE_ONCE(expected[flips % KEPT][i], compute_expected_result(i));
}

/*
 * Execute the runs (sites of several instructions), and check that each run was executed
 * completely.
 */
static void check_multi_insn_sites(void)
{
	if (kinds_execute_multi_insn_sites() != RUN_PASSES)
		WRITE_ONCE(wrong, wrong + 1);
}

/*
 * Return the chunk size of batch number @i, which has @size sites: every 8th batch has up to 4
 * chunks, all other batches have one chunk.
 */
static unsigned int choose_chunk_size(unsigned int i, unsigned int size)
{
	return i % 8 ? size : 1 + size / (2 + i / 8 % 3);
}

static unsigned long compute_ms_since(u64 start)
{
	return (unsigned long)(ktime_get_ns() - start) / 1000000;
}

/*
 * Change every site repeatedly while all CPUs call @pass.  Make at least @flips batches, and go on
 * for at least @seconds seconds.  A batch changes all sites; but if @pass is
 * check_passes_during_flips() and there are fewer than MANY sites, a batch changes at most FEW
 * sites.
 */
static const char *flip_sites_repeatedly(void (*pass)(void), unsigned int flips,
					 unsigned int seconds)
{
	unsigned int i, size, all = count_site_records(), first = 0;
	bool few = pass == check_passes_during_flips && all < MANY;
	unsigned long number = done;
	u64 start = ktime_get_ns();
	int err = 0;

	wrong = 0;
	memset(compared, 0, sizeof(compared));
	EXPECT(!test_start_threads(pass));
	for (i = 0; (i < flips || compute_ms_since(start) < 1000UL * seconds) && !err; i++) {
		size = few ? 1 + i % FEW : all;
		smp_store_release(&started, ++number);
		err = flip_sites(first, size,
				 pass == check_multi_insn_sites ? size : choose_chunk_size(i, size));
		if (pass == check_passes_during_flips)
			store_expected_results(number);
		smp_store_release(&done, number);
		/* Wait until tasks that were preempted inside a run have left the run. */
		if (pass == check_multi_insn_sites)
			test_wait_until_threads_passed();
		/*
		 * After some batches, change no site until each thread has begun and ended a call
		 * of @pass, whose results can be compared with @expected.
		 */
		if (pass == check_passes_during_flips && i % (few ? 256 : 32) < 2)
			test_wait_for_new_pass_of_threads();
		first = (first + size) % all;
	}
	test_stormed_ms = compute_ms_since(start);
	EXPECT(test_stop_threads());
	EXPECT(!err);
	EXPECT(!wrong);
	for (i = first_pass; pass == check_passes_during_flips && i < end_pass; i++)
		EXPECT(compared[i]);
	return NULL;
}

static const char *check_passes_without_flips(void)
{
	unsigned int i;

	for (i = 0; i < PASS_MANY; i++) {
		EXPECT(kinds_execute_pass(i) == compute_expected_result(i));
		EXPECT(kinds_is_possible_result(i, kinds_execute_pass(i)));
	}
	return NULL;
}

/* Check the results of all passes with each site in both states. */
static const char *check_passes_in_each_state(void)
{
	const char *failed = check_passes_without_flips();
	unsigned int i;
	u64 first[NR_PASSES];

	EXPECT(!failed);
	for (i = 0; i < PASS_MANY; i++)
		first[i] = kinds_execute_pass(i);
	EXPECT(!flip_all_sites());
	EXPECT(!check_passes_without_flips());
	/* The results of the two states differ, except for nops and, in user space, for calls. */
	for (i = 0; i < PASS_MANY; i++)
		EXPECT((kinds_execute_pass(i) == first[i]) ==
		       (i == PASS_NOPS ||
			(i == PASS_CALLS && !first[i] && !compute_expected_result(i))));
	EXPECT(!flip_all_sites());
	EXPECT(!check_passes_without_flips());
	return NULL;
}

static const char *flip_while_checking_passes(unsigned int first, unsigned int end,
					      unsigned int flips, unsigned int seconds)
{
	first_pass = first;
	end_pass = end;
	started = done = 0;
	store_expected_results(0);
	return flip_sites_repeatedly(check_passes_during_flips, flips, seconds);
}

const char *patcher_storm_of_kinds(void)
{
	/* Make more changes if test_seconds is set. */
	unsigned int flips = test_seconds ? 10 * test_batches : test_batches;
	const char *failed;

	EXPECT(test_kinds_end - test_kinds >= FEW);
	EXPECT(!register_records(test_kinds, test_kinds_end, 0));
	failed = check_passes_in_each_state();
	return failed ?: flip_while_checking_passes(0, PASS_MANY, flips, test_seconds);
}

const char *patcher_storm_of_thousands(void)
{
	EXPECT(test_many_end - test_many >= MANY);
	EXPECT(test_many_end - test_many <= MAX_SITES);
	EXPECT(!register_records(test_many, test_many_end, 0));
	return flip_while_checking_passes(PASS_MANY, NR_PASSES, test_batches / 25, 0);
}

/* A batch of n sites in chunks of c takes 3 * ceil(n / c) IPI rounds. */
const char *patcher_takes_three_rounds_per_chunk(void)
{
	struct patcher_stats before, after;
	unsigned int all, chunk;

	EXPECT(!register_records(test_kinds, test_kinds_end, 0));
	all = count_site_records();
	for (chunk = 1; chunk <= all + 1; chunk += 1 + chunk / 4) {
		patcher_read_stats(&before);
		EXPECT(!flip_sites(0, all, chunk));
		patcher_read_stats(&after);
		EXPECT(after.rounds - before.rounds == 3 * ((all + chunk - 1) / chunk));
		EXPECT(after.batches == before.batches + 1);
		EXPECT(after.sites == before.sites + all);
		EXPECT(!check_passes_without_flips());
	}
	/* If a poke of the last chunk is wrong, no chunk is applied. */
	for (chunk = 0; chunk < all; chunk++)
		fill_poke(&pokes[chunk], chunk);
	pokes[all - 1].old[0] ^= 1;
	patcher_read_stats(&before);
	EXPECT(patcher_apply_chunked(owner, pokes, all, 1) == -EILSEQ);
	patcher_read_stats(&after);
	EXPECT(after.rounds == before.rounds && after.refused == before.refused + 1);
	EXPECT(!check_passes_without_flips());
	return NULL;
}

const char *patcher_storm_of_runs(void)
{
	unsigned int nr = test_runs_end - test_runs;
	int err;

	EXPECT(nr <= MAX_SITES);
	err = register_records(test_runs, test_runs_end, PATCHER_SITE_RUN);
	if (!test_can_wait_for_tasks()) {
		EXPECT(err == -EPERM);
		return NULL;
	}
	EXPECT(!err);
	/* Make few changes, because each change waits for a tasks-RCU grace period. */
	return flip_sites_repeatedly(check_multi_insn_sites, (test_batches / 100 + 8) & ~1U, 0);
}

static int replace_prefix_byte(const char *owner_name, u8 *addr, u8 old, u8 new)
{
	memset(&pokes[0], 0, sizeof(pokes[0]));
	pokes[0].addr = addr;
	pokes[0].len = 1;
	pokes[0].old[0] = old;
	pokes[0].new[0] = new;
	return patcher_store_prefixes(owner_name, pokes, 1);
}

/*
 * Storing a LOCK prefix is always allowed; replacing LOCK by DS is allowed only while one CPU is
 * online.
 */
static const char *check_storing_lock_prefix(u8 *prefix)
{
	struct patcher_stats before, after;
	u32 counter = 5;

	patcher_read_stats(&before);
	/* The prefix is LOCK already if this case has run before. */
	EXPECT(replace_prefix_byte(owner, prefix, *prefix, 0xf0) == 0 && *prefix == 0xf0);
	patcher_read_stats(&after);
	EXPECT(after.rounds == before.rounds + 1 && after.refused == before.refused);
	EXPECT(test_has_one_cpu() || replace_prefix_byte(owner, prefix, 0xf0, 0x3e) == -EBUSY);
	EXPECT(*prefix == 0xf0);
	EXPECT(kinds_add_unlocked(&counter) == 5 && counter == 6);
	return NULL;
}

/*
 * A change is refused if a byte, the owner, the address, the length or the number of pokes is
 * wrong.
 */
static const char *check_refused_prefix_changes(u8 *prefix)
{
	struct patcher_stats before, after;

	patcher_read_stats(&before);
	EXPECT(replace_prefix_byte(owner, prefix, 0xf0, 0x90) == -EINVAL);
	EXPECT(replace_prefix_byte(owner + 1, prefix, 0xf0, 0xf0) == -EPERM);
	EXPECT(replace_prefix_byte(owner, prefix + 1, 0xf0, 0xf0) == -ENOENT);
	EXPECT(replace_prefix_byte(owner, prefix, 0x3e, 0xf0) == -EILSEQ);
	EXPECT(replace_prefix_byte(owner, prefix, 0xf0, 0xf0) == 0);
	pokes[1] = pokes[0];
	EXPECT(patcher_store_prefixes(owner, pokes, 2) == -EINVAL);
	EXPECT(patcher_store_prefixes(owner, pokes, 0) == -EINVAL);
	pokes[0].len = 2;
	EXPECT(patcher_store_prefixes(owner, pokes, 1) == -EINVAL);
	patcher_read_stats(&after);
	EXPECT(after.refused == before.refused + 7 && after.rounds == before.rounds + 1);
	return NULL;
}

const char *patcher_prefixes(void)
{
	/*
	 * The compiler may emit kinds_add_locked() and kinds_add_unlocked() in either order: find
	 * the record of each by its kind.
	 */
	const struct kinds_record *second = test_prefixes + !test_prefixes->kind;
	u8 *prefix = kinds_get_site_addr(test_prefixes + test_prefixes->kind);
	struct patcher_stats before, after;
	int err = test_has_one_cpu() ? 0 : -EBUSY;
	u32 counter = 5;

	EXPECT(!register_records(test_prefixes, test_prefixes_end, PATCHER_SITE_PREFIX));
	EXPECT(kinds_add_locked(&counter) == 5 && counter == 6);
	patcher_read_stats(&before);
	EXPECT(replace_prefix_byte(owner, prefix, 0xf0, 0x3e) == err);
	EXPECT(*prefix == (err ? 0xf0 : 0x3e));
	EXPECT(kinds_add_locked(&counter) == 6 && counter == 7);
	patcher_read_stats(&after);
	EXPECT(after.rounds - before.rounds == (err ? 0 : 1));
	if (!err) {
		EXPECT(replace_prefix_byte(owner, prefix, 0xf0, 0x3e) == -EILSEQ);
		EXPECT(replace_prefix_byte(owner, prefix, 0x3e, 0xf0) == 0 && *prefix == 0xf0);
	}
	EXPECT(replace_prefix_byte(owner, prefix + 1, 0xf0, 0x3e) == -ENOENT);
	EXPECT(patcher_apply(owner, pokes, 1) == -ENOENT);
	pokes[0].addr = prefix;
	EXPECT(patcher_apply(owner, pokes, 1) == -EINVAL);
	EXPECT(*prefix == 0xf0);
	return check_storing_lock_prefix(kinds_get_site_addr(second)) ?:
	       check_refused_prefix_changes(prefix);
}
