// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of immediate values: every size and alignment, branches, comparisons, many sites of one
 * value, and stress tests.
 */
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/stringify.h>

#include <kmarkers/immediate.h>
#include <kmarkers/patcher.h>

#include "cases.h"

enum colour { RED = 3, GREEN = 70000 };

static DEFINE_IMV(bool, flag) = true;
static DEFINE_IMV(u8, small) = 0xa5;
static DEFINE_IMV(s16, medium) = -12345;
static DEFINE_IMV(int, large) = -2;
static DEFINE_IMV(u64, huge) = 0x0123456789abcdefULL;
static DEFINE_IMV(const char *, pointer) = "text";
static DEFINE_IMV(enum colour, colour) = GREEN;
static DEFINE_IMV(long, zero);

const char *imv_reads_initial_values(void)
{
	EXPECT(imv_read(flag) == true);
	EXPECT(imv_read(small) == 0xa5);
	EXPECT(imv_read(medium) == -12345);
	EXPECT(imv_read(large) == -2);
	EXPECT(imv_read(huge) == 0x0123456789abcdefULL);
	EXPECT(imv_read(pointer) == _imv_read(pointer));
	EXPECT(imv_read(colour) == GREEN);
	EXPECT(imv_read(zero) == 0);
	return NULL;
}

static const char *set_all_values(bool b, u8 s, s16 m, int l, u64 h, const char *p, enum colour c,
				  long z)
{
	EXPECT(!imv_set(flag, b) && imv_read(flag) == b && _imv_read(flag) == b);
	EXPECT(!imv_set(small, s) && imv_read(small) == s && _imv_read(small) == s);
	EXPECT(!imv_set(medium, m) && imv_read(medium) == m && _imv_read(medium) == m);
	EXPECT(!imv_set(large, l) && imv_read(large) == l && _imv_read(large) == l);
	EXPECT(!imv_set(huge, h) && imv_read(huge) == h && _imv_read(huge) == h);
	EXPECT(!imv_set(pointer, p) && imv_read(pointer) == p && _imv_read(pointer) == p);
	EXPECT(!imv_set(colour, c) && imv_read(colour) == c && _imv_read(colour) == c);
	EXPECT(!imv_set(zero, z) && imv_read(zero) == z && _imv_read(zero) == z);
	return NULL;
}

const char *imv_sets_values_of_every_size(void)
{
	const char *initial = _imv_read(pointer);
	const char *failed;

	failed = set_all_values(false, 1, 32767, 0x7fffffff, ~0ULL, "other", RED, -1);
	if (!failed)
		failed = set_all_values(true, 0xa5, -12345, -2, 0x0123456789abcdefULL, initial,
					GREEN, 0);
	return failed;
}

static DEFINE_IMV(bool, branch) = true;

static noinline int read_branch_results(void)
{
	return imv_branch(branch) | imv_cmp_flip(branch) << 1 | imv_xor_flip(branch) << 2;
}

const char *imv_branches_follow_the_value(void)
{
	struct imv_change large = { .var = &branch__imv, .value = 0x100, .size = 1 };
	struct imv_change assigned = IMV_CHANGE(branch, 0x100);

	EXPECT(read_branch_results() == 7);
	EXPECT(!imv_set(branch, false));
	EXPECT(read_branch_results() == 0 && !_imv_read(branch));
	EXPECT(!imv_set(branch, false));
	EXPECT(read_branch_results() == 0);
	EXPECT(!imv_set(branch, true));
	EXPECT(read_branch_results() == 7 && _imv_read(branch));

	/* The variable has one byte: a larger number is truncated to its low byte, here 0. */
	EXPECT(!imv_set_many(&large, 1));
	EXPECT(read_branch_results() == 0 && !_imv_read(branch));
	/* Any value but 0 becomes 1, as in an assignment to a bool. */
	EXPECT(!imv_set_many(&assigned, 1));
	EXPECT(read_branch_results() == 7 && _imv_read(branch));
	return NULL;
}

/*
 * COMPARED: the results of five comparisons of @x with an immediate value, one bit each.
 * CALCULATED: the results of the same comparisons of @x with the variable @y.
 */
#define COMPARED(x, name)						\
	(imv_equal(x, name) | imv_below(x, name) << 1 | imv_at_most(x, name) << 2 | \
	 imv_above(x, name) << 3 | imv_at_least(x, name) << 4)
#define CALCULATED(x, y)						\
	(((x) == (y)) | ((x) < (y)) << 1 | ((x) <= (y)) << 2 | ((x) > (y)) << 3 | ((x) >= (y)) << 4)

/*
 * Define an immediate value of @type, and the function compare_@id(value, number).  The function
 * sets the immediate value to its first argument, and compares its second argument with the
 * immediate value twice: first as a @type, then as the type to which C promotes @type.
 */
#define DEFINE_COMPARISON(id, type)					\
static DEFINE_IMV(type, limit_##id);					\
									\
static noinline bool compare_##id(u64 value, u64 number)		\
{									\
	type own = (type)number, limit = (type)value;			\
	__typeof__(+own) promoted = (__typeof__(+own))number;		\
									\
	return !imv_set(limit_##id, limit) &&				\
	       COMPARED(own, limit_##id) == CALCULATED(own, limit) &&	\
	       COMPARED(promoted, limit_##id) == CALCULATED(promoted, limit); \
}

DEFINE_COMPARISON(bool, bool)
DEFINE_COMPARISON(u8, u8)
DEFINE_COMPARISON(s8, s8)
DEFINE_COMPARISON(u16, u16)
DEFINE_COMPARISON(s16, s16)
DEFINE_COMPARISON(u32, u32)
DEFINE_COMPARISON(int, int)
DEFINE_COMPARISON(colour, enum colour)
DEFINE_COMPARISON(u64, u64)
DEFINE_COMPARISON(long, long)

static const char *check_all_type_comparisons(u64 value, u64 number)
{
	EXPECT(compare_bool(value, number));
	EXPECT(compare_u8(value, number));
	EXPECT(compare_s8(value, number));
	EXPECT(compare_u16(value, number));
	EXPECT(compare_s16(value, number));
	EXPECT(compare_u32(value, number));
	EXPECT(compare_int(value, number));
	EXPECT(compare_colour(value, number));
	EXPECT(compare_u64(value, number));
	EXPECT(compare_long(value, number));
	return NULL;
}

static DEFINE_IMV(s8, coldest) = -40;
static DEFINE_IMV(u16, longest) = 40000;

static int nr_calls;

static noinline int count_call(void)
{
	return ++nr_calls;
}

const char *imv_compares_like_variables(void)
{
	static const u64 values[] = {
		0, 1, 0x7e, 0x7f, 0x80, 0x81, 0xff, 0x100, 0x7fff, 0x8000, 0xffff, 0x10000,
		0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 0x7fffffffffffffff,
		0x8000000000000000, -1, -2, -128, -129, -32768, -32769,
	};
	const char *failed = NULL;
	unsigned int i, j;
	int calls = nr_calls;

	/* The sites of a new table have the values that the variables were defined with. */
	EXPECT(imv_equal(-40, coldest) && imv_below(-41, coldest) && imv_above(216, coldest));
	EXPECT(imv_equal(40000, longest) && imv_below(-25536, longest));
	/* The number that is compared with the immediate value is evaluated once. */
	EXPECT(imv_below(count_call(), longest) && nr_calls == calls + 1);
	for (i = 0; i < ARRAY_SIZE(values) && !failed; i++)
		for (j = 0; j < ARRAY_SIZE(values) && !failed; j++)
			failed = check_all_type_comparisons(values[i], values[j]);
	return failed;
}

/*
 * Read a value with an instruction that begins @offset bytes into a cache line.  At large offsets
 * the instruction continues in the next line.
 */
#define AT(offset, name)						\
({									\
	asm volatile(".p2align 6\n\t.rept " #offset "\n\tnop\n\t.endr");	\
	imv_read(name);							\
})

#define AT_OFFSETS(name)						\
	(AT(0, name) == AT(1, name) && AT(2, name) == AT(3, name) &&	\
	 AT(55, name) == AT(56, name) && AT(57, name) == AT(58, name) &&	\
	 AT(59, name) == AT(60, name) && AT(61, name) == AT(62, name) &&	\
	 AT(63, name) == imv_read(name) && AT(54, name) == _imv_read(name))

static DEFINE_IMV(u8, at1) = 1;
static DEFINE_IMV(u16, at2) = 2;
static DEFINE_IMV(u32, at4) = 3;
static DEFINE_IMV(u64, at8) = 4;

static noinline const char *check_reads_at_all_offsets(u64 value)
{
	EXPECT(AT_OFFSETS(at1) && imv_read(at1) == (u8)value);
	EXPECT(AT_OFFSETS(at2) && imv_read(at2) == (u16)value);
	EXPECT(AT_OFFSETS(at4) && imv_read(at4) == (u32)value);
	EXPECT(AT_OFFSETS(at8) && imv_read(at8) == value);
	return NULL;
}

const char *imv_sets_values_at_every_alignment(void)
{
	static const u64 values[] = { 0, ~0ULL, 0x8000000080008080ULL, 0x0123456789abcdefULL };
	const char *failed = NULL;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(values) && !failed; i++) {
		struct imv_change changes[] = {
			IMV_CHANGE(at1, (u8)values[i]), IMV_CHANGE(at2, (u16)values[i]),
			IMV_CHANGE(at4, (u32)values[i]), IMV_CHANGE(at8, values[i]),
		};

		EXPECT(!imv_set_many(changes, ARRAY_SIZE(changes)));
		failed = check_reads_at_all_offsets(values[i]);
	}
	return failed;
}

/* A variable that no site reads: the patcher is not called when this variable changes. */
static DEFINE_IMV(u8, unread) = 3;

const char *imv_refuses_bad_changes(void)
{
	struct imv_change changes[2] = {
		{ .var = &huge__imv, .value = 1, .size = 8 },
		{ .var = &small__imv, .value = 1, .size = 2 },
	};

	/* A batch with a wrong size, or with the same variable twice, changes nothing. */
	EXPECT(imv_set_many(changes, 2) == -EINVAL);
	changes[1] = changes[0];
	EXPECT(imv_set_many(changes, 2) == -EINVAL);
	changes[0] = (struct imv_change){ .var = &unread__imv, .value = 4, .size = 1 };
	changes[1] = changes[0];
	EXPECT(imv_set_many(changes, 2) == -EINVAL);
	EXPECT(_imv_read(unread) == 3);
	EXPECT(imv_read(huge) == 0x0123456789abcdefULL && _imv_read(huge) == imv_read(huge));
	EXPECT(imv_read(small) == 0xa5 && _imv_read(small) == 0xa5);
	return NULL;
}

/* Number of sites of one immediate value. */
#define MANY	10000

static DEFINE_IMV(u32, many) = 7;

static noinline u32 sum_values_of_many_sites(void)
{
	u32 value, sum = 0;

	asm volatile(".rept " __stringify(MANY) "\n"
		     __IMV_SITE("movl $0, %k0", "2", "4", "0")
		     "	addl %k0, %k1\n"
		     ".endr\n"
		     : "=&r" (value), "+r" (sum) : "i" (&many__imv) : "cc");
	return sum;
}

const char *imv_changes_many_sites_in_one_batch(void)
{
	struct patcher_stats before, after;

	EXPECT(sum_values_of_many_sites() == 7 * MANY);
	patcher_read_stats(&before);
	EXPECT(!imv_set(many, 12345));
	patcher_read_stats(&after);
	EXPECT(sum_values_of_many_sites() == 12345 * MANY);
	EXPECT(after.sites - before.sites == MANY);
	EXPECT(after.rounds - before.rounds == 3);
	EXPECT(!imv_set(many, 7));
	EXPECT(sum_values_of_many_sites() == 7 * MANY);
	return NULL;
}

/* MANY immediate values, each with one site. */
static DEFINE_IMV(u32 [MANY], each);
static struct imv_change each_change[MANY];

/* Return a hash of the values that the sites read, in the order of the values. */
static noinline u32 hash_site_values(void)
{
	u32 value, hash = 0;

	asm volatile(".set each_at, 0\n"
		     ".rept " __stringify(MANY) "\n"
		     __IMV_SITE("movl $0, %k0", "2 + each_at", "4", "0")
		     "	imull $31, %k1, %k1\n"
		     "	addl %k0, %k1\n"
		     ".set each_at, each_at + 4\n"
		     ".endr\n"
		     : "=&r" (value), "+r" (hash) : "i" (&each__imv) : "cc");
	return hash;
}

/* Fill each_change with the changes of value i to (i + 1) * @factor.  Return the hash. */
static u32 fill_each_change_and_hash(u32 factor)
{
	u32 i, hash = 0;

	for (i = 0; i < MANY; i++) {
		/* imv_set_many() sorts the changes, so begin with the last value. */
		each_change[MANY - 1 - i] = (struct imv_change){
			.var = &each__imv[i], .value = (i + 1) * factor, .size = sizeof(u32),
		};
		hash = hash * 31 + (i + 1) * factor;
	}
	return hash;
}

const char *imv_changes_many_values_in_one_batch(void)
{
	struct patcher_stats before, after;
	u32 hash = fill_each_change_and_hash(3);

	patcher_read_stats(&before);
	EXPECT(!imv_set_many(each_change, MANY));
	patcher_read_stats(&after);
	EXPECT(hash_site_values() == hash && each__imv[0] == 3 && each__imv[MANY - 1] == MANY * 3);
	EXPECT(after.sites - before.sites == MANY);
	EXPECT(after.rounds - before.rounds == 3);
	/* If two changes of a batch are for the same value, no value is changed. */
	fill_each_change_and_hash(5);
	each_change[MANY - 1].var = each_change[0].var;
	EXPECT(imv_set_many(each_change, MANY) == -EINVAL);
	EXPECT(hash_site_values() == hash && each__imv[0] == 3 && each__imv[MANY - 1] == MANY * 3);
	return NULL;
}

/*
 * Data of the stress test.  In generation g, every byte of every value is g % 251 + 1.  So
 * count_unexpected_value() recognises a value that is too old, or whose bytes are from two
 * generations.
 */
static DEFINE_IMV(u8, storm1);
static DEFINE_IMV(u16, storm2);
static DEFINE_IMV(u32, storm4);
static DEFINE_IMV(u64, storm8);
static unsigned long started, done, wrong;

#define PERIOD		251
#define ONES		0x0101010101010101ULL

static u64 compute_generation_value(unsigned long generation)
{
	return (generation % PERIOD + 1) * ONES;
}

/*
 * Count an error if @seen is not the value of any generation from number @oldest to number
 * @started.
 */
static void count_unexpected_value(u64 seen, u64 mask, unsigned long oldest)
{
	unsigned long generation, high = smp_load_acquire(&started);

	for (generation = oldest; generation <= high; generation++)
		if (seen == (compute_generation_value(generation) & mask))
			return;
	WRITE_ONCE(wrong, wrong + 1);
}

#define CHECK(name, mask)						\
do {									\
	unsigned long low = smp_load_acquire(&done);			\
									\
	count_unexpected_value(imv_read(name), mask, low);		\
} while (0)

#define CHECK_SIZES							\
	CHECK(storm1, 0xff);						\
	CHECK(storm2, 0xffff);						\
	CHECK(storm4, 0xffffffff);					\
	CHECK(storm8, ~0ULL)

#define TIMES4(x)	x; x; x; x
#define TIMES64(x)	TIMES4(TIMES4(TIMES4(x)))

/* Read 64 sites of each size, and check the values. */
static noinline void check_values_of_all_sites(void)
{
	TIMES64(CHECK_SIZES);
}

static int set_generation_values(unsigned long generation)
{
	struct imv_change changes[] = {
		{ .var = &storm1__imv, .size = 1 },
		{ .var = &storm2__imv, .size = 2 },
		{ .var = &storm4__imv, .size = 4 },
		{ .var = &storm8__imv, .size = 8 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(changes); i++)
		changes[i].value = compute_generation_value(generation);
	return imv_set_many(changes, ARRAY_SIZE(changes));
}

const char *imv_storm(void)
{
	struct patcher_stats before, after;
	unsigned long generation, last, nr = test_batches / 8;
	int err;

	/* If this case has run before, continue with the last generation of that run. */
	generation = started;
	last = generation + nr;
	wrong = 0;
	EXPECT(!set_generation_values(generation));
	patcher_read_stats(&before);
	EXPECT(!test_start_threads(check_values_of_all_sites));
	for (err = 0; generation < last && !err; ) {
		smp_store_release(&started, ++generation);
		err = set_generation_values(generation);
		smp_store_release(&done, generation);
	}
	EXPECT(test_stop_threads());
	patcher_read_stats(&after);
	EXPECT(!err);
	EXPECT(!wrong);
	EXPECT(after.batches - before.batches == nr);
	EXPECT(after.sites - before.sites == 256 * nr);
	EXPECT(after.rounds - before.rounds == 3 * nr);
	return NULL;
}

/* Data of the stress test of branches and comparisons: in generation g the value is g & 1. */
static DEFINE_IMV(bool, storm_branch);
static unsigned long branch_started, branch_done, compared;

/*
 * Check the result @seen of a branch or a comparison in generation @generation.  If a later change
 * has begun, both results are possible, so nothing is checked.
 */
static void count_unexpected_branch(bool seen, unsigned long generation)
{
	if (generation != smp_load_acquire(&branch_started))
		return;
	WRITE_ONCE(compared, READ_ONCE(compared) + 1);
	if (seen != (generation & 1))
		WRITE_ONCE(wrong, wrong + 1);
}

#define CHECK_BRANCH(form)						\
do {									\
	unsigned long low = smp_load_acquire(&branch_done);		\
									\
	count_unexpected_branch(form(storm_branch), low);		\
} while (0)

/* EQUALS_TRUE() compares an operand of one byte, EXCEEDS_0() an operand of four bytes. */
#define EQUALS_TRUE(name)	imv_equal((bool)true, name)
#define EXCEEDS_0(name)		imv_below(0, name)

#define CHECK_FORMS							\
	CHECK_BRANCH(EQUALS_TRUE);					\
	CHECK_BRANCH(EXCEEDS_0);					\
	CHECK_BRANCH(imv_branch);					\
	CHECK_BRANCH(imv_cmp_flip);					\
	CHECK_BRANCH(imv_xor_flip)

static noinline void check_branches_of_all_sites(void)
{
	TIMES4(TIMES4(CHECK_FORMS));
}

const char *imv_storm_of_branches(void)
{
	unsigned long generation = branch_started, last = generation + test_batches / 8;
	int err = 0;

	wrong = compared = 0;
	EXPECT(!test_start_threads(check_branches_of_all_sites));
	while (generation < last && !err) {
		smp_store_release(&branch_started, ++generation);
		err = imv_set(storm_branch, generation & 1);
		smp_store_release(&branch_done, generation);
		if (generation % 64 < 2)
			test_wait_for_new_pass_of_threads();
	}
	EXPECT(test_stop_threads());
	EXPECT(!err);
	EXPECT(!wrong);
	EXPECT(compared);
	return NULL;
}
