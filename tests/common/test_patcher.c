// SPDX-License-Identifier: GPL-2.0-only
/* Tests of the patcher, through its public interface: nops are replaced by jumps and back. */
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include <kmarkers/patcher.h>

#include "cases.h"

#define INSN	5

/*
 * Addresses of the sites.  These pointers are in a section that objtool skips; in another section
 * objtool would report that they point to code that is not the target of an indirect branch.
 */
extern u8 *const test_site_first, *const test_site_second, *const test_site_nested;

asm(".pushsection " KMARKERS_SECTION(test) ", \"aw\", @progbits\n"
	"test_site_first:	.quad test_first\n"
	"test_site_second:	.quad test_second\n"
	"test_site_nested:	.quad test_nested\n"
	".popsection");

static const u8 nop[INSN] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
static const u8 jump[INSN] = { 0xe9, 0x05, 0x00, 0x00, 0x00 };

#define FIRST	1
#define SECOND	4
#define BOTH	(FIRST | SECOND)

/*
 * Execute two sites, each followed by an add instruction of five bytes.  If the site holds the
 * jump, the jump skips the add.  If an add is executed twice, the sum has a bit that neither
 * operand has.
 */
static noinline int execute_sites(void)
{
	int sum = 0;

	asm volatile("test_first:\n\t"
		     ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n\t"
		     ".byte 0x05, 1, 0, 0, 0\n"
		     "test_second:\n\t"
		     ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n\t"
		     ".byte 0x05, 4, 0, 0, 0"
		     : "+a" (sum) : : "cc");
	return sum;
}

/*
 * Instructions inside other instructions, for sites that overlap.  The first byte is the prefix 66,
 * which makes the instruction a 16-bit mov.  From the second byte on, the same bytes are a 32-bit
 * mov, whose constant consists of nops.
 */
static noinline __used void contain_nested_insns(void)
{
	asm volatile("test_nested:\n\t"
		     ".byte 0x66, 0xb8, 0x90, 0x90, 0x90, 0x90\n\t"
		     "nop" : : : "eax");
}

static const char owner[] = "test";
static struct patcher_site sites[2];
static struct patcher_table table = { .sites = sites, .nr = 2, .owner = owner };
static bool registered;
static struct patcher_poke pokes[2];

static void fill_site_record(struct patcher_site *site, const u8 *addr, u8 len)
{
	site->addr = (long)addr - (long)&site->addr;
	site->key = 0;
	site->len = len;
}

static int register_sites(void)
{
	int err;

	/* The records are not sorted by address: patcher_register() sorts them. */
	fill_site_record(&sites[0], test_site_second, INSN);
	fill_site_record(&sites[1], test_site_first, INSN);
	table.module = THIS_MODULE;
	err = patcher_register(&table);
	registered = !err;
	return err;
}

static void fill_poke(struct patcher_poke *poke, u8 *addr, const u8 *old, const u8 *new)
{
	memset(poke, 0, sizeof(*poke));
	poke->addr = addr;
	poke->len = INSN;
	memcpy(poke->old, old, INSN);
	memcpy(poke->new, new, INSN);
}

static void fill_pokes_of_two_sites(const u8 *old, const u8 *new)
{
	fill_poke(&pokes[0], test_site_second, old, new);
	fill_poke(&pokes[1], test_site_first, old, new);
}

void patcher_cleanup(void)
{
	if (!registered)
		return;
	fill_pokes_of_two_sites(jump, nop);
	patcher_apply(owner, pokes, 2);
	patcher_unregister(&table);
	registered = false;
}

const char *patcher_replaces_and_restores(void)
{
	EXPECT(!register_sites());
	EXPECT(execute_sites() == BOTH);

	fill_poke(&pokes[0], test_site_first, nop, jump);
	EXPECT(!patcher_apply(owner, pokes, 1));
	EXPECT(execute_sites() == SECOND);
	EXPECT(!memcmp(test_site_first, jump, INSN));

	fill_poke(&pokes[0], test_site_second, nop, jump);
	EXPECT(!patcher_apply(owner, pokes, 1));
	EXPECT(execute_sites() == 0);

	fill_pokes_of_two_sites(jump, nop);
	EXPECT(!patcher_apply(owner, pokes, 2));
	EXPECT(execute_sites() == BOTH);
	EXPECT(!memcmp(test_site_first, nop, INSN));
	EXPECT(!memcmp(test_site_second, nop, INSN));
	return NULL;
}

/* Return true if a batch is refused with @err, changes no byte, and is counted as refused. */
static bool is_batch_refused(unsigned int nr, int err)
{
	struct patcher_stats before, after;
	int got;

	patcher_read_stats(&before);
	got = patcher_apply(owner, pokes, nr);
	patcher_read_stats(&after);
	return got == err && after.rounds == before.rounds && after.batches == before.batches &&
	       after.refused == before.refused + 1 &&
	       !memcmp(test_site_first, nop, INSN) && !memcmp(test_site_second, nop, INSN);
}

static const u8 two_nops[INSN] = { 0x66, 0x90, 0x0f, 0x1f, 0x00 };

/* Check that pokes with a wrong address, wrong old bytes or a wrong length are refused. */
static const char *check_wrong_pokes_are_refused(void)
{
	fill_pokes_of_two_sites(nop, jump);
	pokes[1].addr = test_site_first + 1;
	EXPECT(is_batch_refused(2, -ENOENT));

	fill_pokes_of_two_sites(nop, jump);
	pokes[1].addr = pokes[0].addr;
	EXPECT(is_batch_refused(2, -EINVAL));

	fill_pokes_of_two_sites(nop, jump);
	pokes[1].old[4] = 1;
	EXPECT(is_batch_refused(2, -EILSEQ));

	fill_pokes_of_two_sites(nop, jump);
	pokes[0].len = 4;
	EXPECT(is_batch_refused(2, -EINVAL));
	fill_pokes_of_two_sites(nop, jump);
	pokes[0].len = PATCHER_INSN_MAX + 1;
	EXPECT(is_batch_refused(2, -EINVAL));

	/* The new instruction has the length of the poke, but the site has another length. */
	fill_pokes_of_two_sites(nop, two_nops);
	pokes[0].len = 2;
	EXPECT(is_batch_refused(1, -EINVAL));
	return NULL;
}

const char *patcher_refuses_bad_batches(void)
{
	static const u8 push[INSN] = { 0x68, 1, 0, 0, 0 };
	struct patcher_stats before, after;
	const char *failed;

	EXPECT(!register_sites());
	EXPECT(is_batch_refused(0, -EINVAL));
	failed = check_wrong_pokes_are_refused();
	if (failed)
		return failed;

	fill_pokes_of_two_sites(nop, push);
	EXPECT(is_batch_refused(2, -EINVAL));
	fill_pokes_of_two_sites(nop, two_nops);
	EXPECT(is_batch_refused(2, -EINVAL));

	fill_pokes_of_two_sites(nop, jump);
	EXPECT(patcher_apply(owner + 1, pokes, 2) == -EPERM);
	patcher_read_stats(&before);
	EXPECT(patcher_apply_chunked(owner, pokes, 2, 0) == -EINVAL);
	patcher_read_stats(&after);
	EXPECT(after.refused == before.refused + 1);
	EXPECT(patcher_store_prefixes(owner, pokes, 2) == -EINVAL);

	fill_poke(&pokes[0], test_site_first + INSN, test_site_first + INSN, jump);
	EXPECT(is_batch_refused(1, -ENOENT));
	fill_poke(&pokes[0], (u8 *)&table, nop, jump);
	EXPECT(is_batch_refused(1, -ENOENT));
	EXPECT(execute_sites() == BOTH);
	return NULL;
}

const char *patcher_refuses_bad_tables(void)
{
	static u8 not_text[INSN] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
	struct patcher_table bad = {
		.sites = sites, .nr = 2, .module = THIS_MODULE, .owner = owner,
	};
	struct patcher_stats before, after;
	unsigned int i;

	patcher_read_stats(&before);
	fill_site_record(&sites[0], test_site_first, INSN);
	fill_site_record(&sites[1], not_text, INSN);
	EXPECT(patcher_register(&bad) == -EPERM);
	fill_site_record(&sites[1], test_site_first, INSN);
	EXPECT(patcher_register(&bad) == -EINVAL);
	fill_site_record(&sites[1], test_site_second, INSN - 1);
	EXPECT(patcher_register(&bad) == -EINVAL);
	fill_site_record(&sites[1], test_site_second, 0);
	EXPECT(patcher_register(&bad) == -EINVAL);
	bad.nr = 0;
	EXPECT(patcher_register(&bad) == -EINVAL);
	/* A client's table with .core set is refused. */
	bad.nr = 1;
	bad.core = true;
	EXPECT(patcher_register(&bad) == -EPERM);
	/* Sites with absolute addresses are refused. */
	bad.nr = 2;
	bad.core = false;
	for (i = 0; i < 2; i++) {
		sites[i].addr = (long)(i ? test_site_first : test_site_second);
		sites[i].len = INSN;
		sites[i].flags = PATCHER_SITE_ABSOLUTE;
	}
	EXPECT(patcher_register(&bad) == -EPERM);
	sites[0].flags = 0;
	sites[1].flags = 0;
	patcher_read_stats(&after);
	EXPECT(after.refused == before.refused + 7);
	return NULL;
}

/*
 * Register and unregister one more table, with one site of @len bytes that begins @offset bytes
 * behind the start of the 32-bit mov in contain_nested_insns().
 */
static int register_nested_site_briefly(int offset, u8 len)
{
	static struct patcher_site site;
	static struct patcher_table other = { .sites = &site, .nr = 1, .owner = owner };
	int err;

	fill_site_record(&site, test_site_nested + 1 + offset, len);
	other.module = THIS_MODULE;
	err = patcher_register(&other);
	if (!err)
		patcher_unregister(&other);
	return err;
}

/* A site that overlaps any byte of another site is refused. */
const char *patcher_refuses_overlaps(void)
{
	unsigned int i;

	EXPECT(!register_nested_site_briefly(-1, 4));
	EXPECT(!register_nested_site_briefly(0, INSN) && !register_nested_site_briefly(1, 1));
	fill_site_record(&sites[0], test_site_nested + 1, INSN);
	table.nr = 1;
	table.module = THIS_MODULE;
	registered = !patcher_register(&table);
	EXPECT(registered);
	EXPECT(register_nested_site_briefly(-1, 4) == -EBUSY);
	EXPECT(register_nested_site_briefly(0, INSN) == -EBUSY);
	for (i = 1; i < INSN; i++)
		EXPECT(register_nested_site_briefly(i, 1) == -EBUSY);
	EXPECT(!register_nested_site_briefly(INSN, 1));
	return NULL;
}

void overlaps_cleanup(void)
{
	if (registered)
		patcher_unregister(&table);
	registered = false;
	table.nr = 2;
}

const char *patcher_takes_three_rounds_per_batch(void)
{
	struct patcher_stats before, after;
	unsigned int i;

	EXPECT(!register_sites());
	patcher_read_stats(&before);
	for (i = 0; i < 10; i++) {
		fill_pokes_of_two_sites(i & 1 ? jump : nop, i & 1 ? nop : jump);
		EXPECT(!patcher_apply(owner, pokes, 2));
	}
	patcher_read_stats(&after);
	EXPECT(after.batches == before.batches + 10);
	EXPECT(after.sites == before.sites + 20);
	EXPECT(after.rounds == before.rounds + 30);
	return NULL;
}

/*
 * Numbers of changes that have begun, of changes that have ended, of wrong results, and of results
 * that no change can have affected.
 */
static unsigned long started, done, wrong, compared;

/*
 * Execute the sites.  Each site must hold a complete nop or jump.  If no change ran meanwhile, each
 * site must hold the instruction that the last change stored.
 */
static void check_executed_sites(void)
{
	unsigned long low = smp_load_acquire(&done), high;
	int seen = execute_sites();

	high = smp_load_acquire(&started);
	/* Each site is a complete nop or a complete jump in every state. */
	if (seen & ~BOTH)
		WRITE_ONCE(wrong, wrong + 1);
	if (low != high)
		return;
	/* No site has changed meanwhile, so the result is known. */
	WRITE_ONCE(compared, READ_ONCE(compared) + 1);
	if (seen != (low & 1 ? 0 : BOTH))
		WRITE_ONCE(wrong, wrong + 1);
}

const char *patcher_storm_of_jumps(void)
{
	unsigned int i, nr = test_batches / 4 + 2;
	int err = 0;

	EXPECT(!register_sites());
	started = done = wrong = compared = 0;
	EXPECT(!test_start_threads(check_executed_sites));
	for (i = 0; i < nr && !err; i++) {
		fill_pokes_of_two_sites(i & 1 ? jump : nop, i & 1 ? nop : jump);
		smp_store_release(&started, i + 1);
		err = patcher_apply(owner, pokes, 2);
		smp_store_release(&done, i + 1);
		if (i % 64 < 2)
			test_wait_for_new_pass_of_threads();
	}
	EXPECT(test_stop_threads());
	EXPECT(!err);
	EXPECT(!wrong);
	EXPECT(compared);
	return NULL;
}

/* The buckets of the duration histogram are adjacent, and each batch is counted in one bucket. */
const char *patcher_counts_batches_by_duration(void)
{
	struct patcher_stats before, after;
	unsigned int i, grown = 0;

	EXPECT(patcher_get_duration_bucket(0) == 0 && patcher_get_duration_bucket(999) == 0);
	for (i = 1; i < PATCHER_BUCKETS; i++) {
		EXPECT(patcher_get_duration_bucket((1000ULL << (i - 1)) - 1) == i - 1);
		EXPECT(patcher_get_duration_bucket(1000ULL << (i - 1)) == i);
	}
	EXPECT(patcher_get_duration_bucket(~0ULL) == PATCHER_BUCKETS - 1);
	EXPECT(!register_sites());
	patcher_read_stats(&before);
	fill_pokes_of_two_sites(nop, jump);
	EXPECT(!patcher_apply(owner, pokes, 2));
	patcher_read_stats(&after);
	for (i = 0; i < PATCHER_BUCKETS; i++)
		grown += after.durations[i] - before.durations[i];
	EXPECT(grown == 1);
	/* A refused batch is counted in no bucket. */
	fill_pokes_of_two_sites(nop, jump);
	EXPECT(patcher_apply(owner, pokes, 2) == -EILSEQ);
	patcher_read_stats(&before);
	EXPECT(!memcmp(before.durations, after.durations, sizeof(after.durations)));
	return NULL;
}
