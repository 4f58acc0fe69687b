// SPDX-License-Identifier: GPL-2.0-only
/* Tests of batches on adjacent sites: each poke is checked, even if it follows correct pokes. */
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include <kmarkers/patcher.h>

#include "cases.h"

#define INSN	5
#define NR	8
#define HALF	4

/* Address of the sites: a pointer in a section that objtool skips, as in test_patcher.c. */
extern u8 *const test_neighbours;

asm(".pushsection " KMARKERS_SECTION(test) ", \"aw\", @progbits\n"
	"test_neighbours:	.quad test_neighbours_text\n"
	".popsection");

static const u8 nop[INSN] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
static const u8 jump[INSN] = { 0xe9, 0x00, 0x00, 0x00, 0x00 };
static const u8 two_nops[INSN] = { 0x66, 0x90, 0x0f, 0x1f, 0x00 };

/* The sites: eight nops of 5 bytes, then a nop of 4 bytes and a nop of 1 byte. */
static noinline __used notrace void contain_adjacent_sites(void)
{
	asm volatile("test_neighbours_text:\n\t"
		     ".fill 8, 5, 0x00441f0f\n\t"
		     ".byte 0x0f, 0x1f, 0x40, 0x00, 0x90");
}

static const char owner[] = "neighbours", other[] = "others";
static struct patcher_site records[NR];
static struct patcher_compact_site compact_records[NR];
static struct patcher_table tables[2];
static bool registered[2];
static struct patcher_poke pokes[NR];
static bool backwards, short_last, is_compact;

/*
 * Return the address of site number @i.  If short_last is set, the last site is the nop of 4 bytes.
 */
static u8 *get_site_addr(unsigned int i)
{
	return test_neighbours + (i + (short_last && i == NR - 1)) * INSN;
}

/*
 * Register all sites in one table.  If @second_owner is not NULL, register the last half of the
 * sites in a second table instead, whose owner is @second_owner.  If is_compact is set, the tables
 * are compact.
 */
static int register_all_sites(const char *second_owner)
{
	unsigned int i, nr = second_owner ? 2 : 1;
	int err = 0;

	for (i = 0; i < NR; i++) {
		records[i].addr = (long)get_site_addr(i) - (long)&records[i].addr;
		records[i].len = short_last && i == NR - 1 ? INSN - 1 : INSN;
		compact_records[i].addr = (long)get_site_addr(i) - (long)&compact_records[i].addr;
	}
	for (i = 0; i < nr && !err; i++) {
		tables[i] = (struct patcher_table) {
			.nr = NR / nr, .module = THIS_MODULE, .owner = i ? second_owner : owner,
			.alike.len = INSN,
		};
		if (is_compact)
			tables[i].compact = compact_records + i * HALF;
		else
			tables[i].sites = records + i * HALF;
		err = patcher_register(&tables[i]);
		registered[i] = !err;
	}
	return err;
}

/* Return the poke of site number @i.  If backwards is set, the batch is in reverse order. */
static struct patcher_poke *get_site_poke(unsigned int i)
{
	return &pokes[backwards ? NR - 1 - i : i];
}

static void fill_pokes(const u8 *old, const u8 *new)
{
	unsigned int i;

	for (i = 0; i < NR; i++) {
		*get_site_poke(i) = (struct patcher_poke) { .addr = get_site_addr(i), .len = INSN };
		memcpy(get_site_poke(i)->old, old, INSN);
		memcpy(get_site_poke(i)->new, new, INSN);
	}
}

static bool all_sites_hold(const u8 *bytes)
{
	unsigned int i;

	for (i = 0; i < NR; i++)
		if (memcmp(get_site_addr(i), bytes, INSN))
			return false;
	return true;
}

static bool is_batch_refused(int err)
{
	return patcher_apply(owner, pokes, NR) == err && all_sites_hold(nop);
}

/* Check that patcher_apply_most() changes all sites except site @i, whose poke is wrong. */
static const char *check_apply_most_with_one_wrong_poke(unsigned int i)
{
	bool stuck[NR] = { false };
	unsigned int j;

	fill_pokes(nop, jump);
	get_site_poke(i)->old[INSN - 1] = 1;
	EXPECT(patcher_apply_most(patcher_apply, owner, pokes, NR, stuck) == -EILSEQ);
	for (j = 0; j < NR; j++) {
		EXPECT(stuck[backwards ? NR - 1 - j : j] == (j == i));
		EXPECT(!memcmp(get_site_addr(j), j == i ? nop : jump, INSN));
	}
	/* Only site number @i still holds a nop, so only this site can be changed. */
	memset(stuck, 0, sizeof(stuck));
	fill_pokes(nop, jump);
	EXPECT(patcher_apply_most(patcher_apply, owner, pokes, NR, stuck) == -EILSEQ);
	for (j = 0; j < NR; j++)
		EXPECT(stuck[backwards ? NR - 1 - j : j] == (j != i));
	EXPECT(all_sites_hold(jump));
	memset(stuck, 0, sizeof(stuck));
	fill_pokes(jump, nop);
	EXPECT(!patcher_apply_most(patcher_apply, owner, pokes, NR, stuck) && all_sites_hold(nop));
	EXPECT(!memchr(stuck, true, sizeof(stuck)));
	return NULL;
}

const char *patcher_apply_most_skips_wrong_pokes(void)
{
	bool stuck[NR] = { false };
	const char *failed = NULL;
	unsigned int i;

	EXPECT(!register_all_sites(NULL));
	for (i = 0; i < 2 * NR && !failed; i++) {
		backwards = i >= NR;
		failed = check_apply_most_with_one_wrong_poke(i % NR);
	}
	if (failed)
		return failed;
	EXPECT(patcher_apply_most(patcher_apply, owner, pokes, 0, stuck) == -EINVAL);
	/*
	 * The pokes are in reverse order now, so patcher_apply_most() allocates an array to sort
	 * the pokes.  If this allocation fails, nothing must be changed or marked as stuck.
	 */
	fill_pokes(nop, jump);
	if (!test_enable_failing_allocations()) {
		int err;

		test_fail_nth_allocation(1);
		err = patcher_apply_most(patcher_apply, owner, pokes, NR, stuck);
		test_disable_failing_allocations();
		EXPECT(err == -ENOMEM && all_sites_hold(nop) && !memchr(stuck, true, sizeof(stuck)));
	}
	return NULL;
}

/* Check batches in which only the poke of site number @i is wrong: they must be refused. */
static const char *check_wrong_poke_is_refused(unsigned int i)
{
	fill_pokes(nop, jump);
	get_site_poke(i)->addr++;
	EXPECT(is_batch_refused(-ENOENT));
	fill_pokes(nop, jump);
	get_site_poke(i)->addr = get_site_addr(i ? i - 1 : 1);
	EXPECT(is_batch_refused(-EINVAL));
	fill_pokes(nop, two_nops);
	EXPECT(is_batch_refused(-EINVAL));
	fill_pokes(nop, jump);
	memcpy(get_site_poke(i)->new, two_nops, INSN);
	EXPECT(is_batch_refused(-EINVAL));
	fill_pokes(nop, jump);
	get_site_poke(i)->len = INSN - 1;
	EXPECT(is_batch_refused(-EINVAL));
	fill_pokes(nop, jump);
	get_site_poke(i)->len = INSN + 1;
	EXPECT(is_batch_refused(-EINVAL));
	fill_pokes(nop, jump);
	get_site_poke(i)->old[INSN - 1] = 1;
	EXPECT(is_batch_refused(-EILSEQ));
	return NULL;
}

static const char *change_and_restore_sites(void)
{
	unsigned int i;

	fill_pokes(nop, jump);
	/* .flags is private to the patcher: a value that the caller stores must have no effect. */
	get_site_poke(HALF - 1)->flags = PATCHER_SITE_RUN;
	EXPECT(!patcher_apply(owner, pokes, NR) && all_sites_hold(jump));
	for (i = 0; i < NR; i++)
		EXPECT(pokes[i].flags == records[i].flags);
	fill_pokes(jump, nop);
	EXPECT(!patcher_apply(owner, pokes, NR) && all_sites_hold(nop));
	return NULL;
}

const char *patcher_checks_neighbours(void)
{
	const char *failed = NULL;
	unsigned int i, turn;

	EXPECT(!register_all_sites(NULL));
	for (turn = 0; turn < 2 && !failed; turn++) {
		backwards = turn;
		for (i = 0; i < NR && !failed; i++)
			failed = check_wrong_poke_is_refused(i);
		failed = failed ?: change_and_restore_sites();
	}
	return failed;
}

/* Check batches on adjacent sites of a compact table. */
const char *patcher_checks_neighbours_in_compact_table(void)
{
	is_compact = true;
	return patcher_checks_neighbours();
}

/* A batch is refused if the last poke is longer than its site. */
const char *patcher_checks_lengths_of_neighbours(void)
{
	backwards = false;
	short_last = true;
	EXPECT(!register_all_sites(NULL));
	fill_pokes(nop, jump);
	memcpy(get_site_poke(NR - 1)->old, get_site_addr(NR - 1), INSN);
	EXPECT(patcher_apply(owner, pokes, NR) == -EINVAL);
	EXPECT(!memcmp(get_site_addr(0), nop, INSN) && get_site_addr(NR - 1)[INSN - 1] == 0x90);
	return NULL;
}

/* A batch is refused if its last sites belong to a table that has another owner, or to no table. */
const char *patcher_checks_owners_of_neighbours(void)
{
	backwards = false;
	EXPECT(!register_all_sites(other));
	fill_pokes(nop, jump);
	EXPECT(is_batch_refused(-EPERM));
	patcher_unregister(&tables[1]);
	registered[1] = false;
	EXPECT(is_batch_refused(-ENOENT));
	return NULL;
}

/* Like patcher_checks_owners_of_neighbours(), with compact tables. */
const char *patcher_checks_owners_of_compact_tables(void)
{
	is_compact = true;
	return patcher_checks_owners_of_neighbours();
}

/* A batch that contains one run, a site of several instructions, is accepted. */
const char *patcher_checks_runs_among_neighbours(void)
{
	int err;

	backwards = false;
	records[HALF].flags = PATCHER_SITE_RUN;
	err = register_all_sites(NULL);
	if (err == -EPERM)
		return "SKIP sites of several instructions are refused here: the patcher cannot wait for preempted tasks";
	EXPECT(!err);
	return change_and_restore_sites();
}

void neighbours_cleanup(void)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		if (registered[i])
			patcher_unregister(&tables[i]);
	memset(registered, 0, sizeof(registered));
	memset(records, 0, sizeof(records));
	short_last = false;
	is_compact = false;
}
