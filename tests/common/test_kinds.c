// SPDX-License-Identifier: GPL-2.0-only
/*
 * Storms on sites of every kind of instruction, on runs of several, and the
 * exchange of prefixes.
 */
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include <kmarkers/patcher.h>

#include "cases.h"

#ifdef __KERNEL__
#include <asm/asm.h>
#else
#define ASM_CALL_CONSTRAINT	"+r" (unused)
#endif

#define MAX_SITES	2048
#define MANY		2000
#define FEW		64
#define RUN_LEN		11

/* What a site holds by turns; JCC + c is the short jump on condition c. */
enum kind { JMP32, JMP8, JCC8, JCC32, MOV8, MOV16, MOV32, MOV64, CALL32, JCC, RUN = JCC + 16 };

static const struct {
	u8 len;
	u8 insn[2][PATCHER_INSN_MAX];
} kinds[] = {
	[JMP32] = { 5, { { 0x0f, 0x1f, 0x44, 0, 0 }, { 0xe9, 2, 0, 0, 0 } } },
	[JMP8] = { 2, { { 0x66, 0x90 }, { 0xeb, 2 } } },
	[JCC8] = { 2, { { 0x66, 0x90 }, { 0x74, 2 } } },
	[JCC32] = { 6, { { 0x66, 0x0f, 0x1f, 0x44, 0, 0 }, { 0x0f, 0x84, 2, 0, 0, 0 } } },
	[MOV8] = { 2, { { 0xb6, 0x11 }, { 0xb6, 0xee } } },
	[MOV16] = { 4, { { 0x66, 0xb9, 0x11, 0x22 }, { 0x66, 0xb9, 0xee, 0xdd } } },
	[MOV32] = { 6, { { 0x41, 0xb9, 1, 2, 3, 4 }, { 0x41, 0xb9, 5, 6, 7, 8 } } },
	[MOV64] = { 10, { { 0x49, 0xbb, 1, 2, 3, 4, 5, 6, 7, 8 },
			  { 0x49, 0xbb, 9, 8, 7, 6, 5, 4, 3, 2 } } },
};

/*
 * Jumps to what follows them let an emulator, which looks for interrupts only
 * behind a jump, preempt inside a run.  Who returns into the tail of the jump
 * that replaced it is found out: there is ud2.
 */
#define RUN_BYTES	0xeb, 0, 0xeb, 0, 0xeb, 0, 0xeb, 0, 0xeb, 0, 0x90

static const u8 run_insn[2][RUN_LEN] = {
	{ RUN_BYTES },
	{ 0xeb, 0x09, 0x0f, 0x0b, 0x0f, 0x0b, 0x0f, 0x0b, 0x0f, 0x0b, 0x0b },
};

struct record {
	s32 addr;
	s32 kind;
};

/* The first record and the end, around those that SITE() adds. */
#define RECORDS(name)							\
asm(".pushsection .discard_test_" #name ", 0, \"aw\", @progbits\n"	\
	"	.balign 4\n"						\
	"test_" #name ":\n"						\
	".popsection\n"							\
	".pushsection .discard_test_" #name ", 2, \"aw\", @progbits\n"	\
	"test_" #name "_end:\n"						\
	".popsection\n");						\
extern const struct record test_ ## name[], test_ ## name ## _end[]

#define SITE(name, kind, bytes)						\
	"77:	.byte " bytes "\n"					\
	".pushsection .discard_test_" #name ", 1, \"aw\", @progbits\n"	\
	"	.long 77b - ., " __stringify(kind) "\n"			\
	".popsection\n"

/* Assembly knows no enums. */
#define ASM_JMP32	0
#define ASM_JMP8	1
#define ASM_JCC8	2
#define ASM_JCC32	3
#define ASM_MOV8	4
#define ASM_MOV16	5
#define ASM_MOV32	6
#define ASM_MOV64	7
#define ASM_CALL32	8
#define ASM_JCC		9
#define ASM_RUN		25

RECORDS(kinds);
RECORDS(many);
RECORDS(runs);
RECORDS(prefixes);

/* Each copy counts unless a jump passes over the increment, which has two bytes. */
#define COUNT_BRANCHES(name, copies)					\
({									\
	u32 a = 0, c = 0, d = 0, s = 0;					\
									\
	asm volatile(".rept " __stringify(copies) "\n"			\
		     SITE(name, ASM_JMP32, "0x0f, 0x1f, 0x44, 0, 0")	\
		     "	incl %%eax\n"					\
		     SITE(name, ASM_JMP8, "0x66, 0x90")			\
		     "	incl %%ecx\n"					\
		     "	cmpl %%eax, %%eax\n"				\
		     SITE(name, ASM_JCC8, "0x66, 0x90")			\
		     "	incl %%edx\n"					\
		     "	cmpl %%eax, %%eax\n"				\
		     SITE(name, ASM_JCC32, "0x66, 0x0f, 0x1f, 0x44, 0, 0") \
		     "	incl %%esi\n"					\
		     ".endr\n"						\
		     : "+a" (a), "+c" (c), "+d" (d), "+S" (s) : : "cc"); \
	a | (u64)c << 16 | (u64)d << 32 | (u64)s << 48;			\
})

#define COPIES		4
#define MANY_COPIES	500

static noinline u64 pass_branches(void)
{
	return COUNT_BRANCHES(kinds, COPIES);
}

static noinline u64 pass_many(void)
{
	return COUNT_BRANCHES(many, MANY_COPIES);
}

#define JCC_SITE(c)							\
	"	movb $0x7f, %%al\n"						\
	"	addb %%cl, %%al\n"						\
	"	sahf\n"							\
	SITE(kinds, ASM_JCC + 0x ## c, "0x70 + 0x" #c ", 5")		\
	"	btsq $0x" #c ", %%rdx\n"

/*
 * Every condition, under the flags that are given: those that sahf loads, and
 * overflow.  Each bit of the result is a jump not taken; the btsq has 5 bytes.
 */
static noinline u64 pass_conditions(u8 flags, u8 overflow)
{
	u64 a = (u64)flags << 8, d = 0;

	asm volatile(JCC_SITE(0) JCC_SITE(1) JCC_SITE(2) JCC_SITE(3)
		     JCC_SITE(4) JCC_SITE(5) JCC_SITE(6) JCC_SITE(7)
		     JCC_SITE(8) JCC_SITE(9) JCC_SITE(a) JCC_SITE(b)
		     JCC_SITE(c) JCC_SITE(d) JCC_SITE(e) JCC_SITE(f)
		     : "+a" (a), "+d" (d) : "c" (overflow) : "cc");
	return d;
}

/* The copies agree unless they are being changed; then each is one or the other. */
static noinline u64 pass_moves(void)
{
	u64 a = 0, b = 0, c = 0, d = 0;

	asm volatile("xorl %%ecx, %%ecx\n\t"
		     "xorl %%edx, %%edx\n"
		     SITE(kinds, ASM_MOV8, "0xb6, 0x11")
		     SITE(kinds, ASM_MOV16, "0x66, 0xb9, 0x11, 0x22")
		     SITE(kinds, ASM_MOV32, "0x41, 0xb9, 1, 2, 3, 4")
		     SITE(kinds, ASM_MOV64, "0x49, 0xbb, 1, 2, 3, 4, 5, 6, 7, 8")
		     "movq %%rdx, %0\n\t"
		     "movq %%rcx, %1\n\t"
		     "movq %%r9, %2\n\t"
		     "movq %%r11, %3"
		     : "=r" (a), "=r" (b), "=r" (c), "=r" (d) : : "rcx", "rdx", "r9", "r11", "cc");
	return a << 48 ^ b << 32 ^ c ^ d;
}

#ifdef __KERNEL__
static noinline __used u64 test_callee(u64 value)
{
	return value + 1;
}

/* A call that is emulated writes below the stack pointer: not where a red zone is. */
static noinline u64 pass_calls(void)
{
	u64 a = 0, di;

	asm volatile(".rept " __stringify(COPIES) "\n"
		     "	movq %%rax, %%rdi\n"
		     SITE(kinds, ASM_CALL32, "0x0f, 0x1f, 0x44, 0, 0")
		     ".endr\n"
		     : "+a" (a), "=D" (di), ASM_CALL_CONSTRAINT : : "rcx", "rdx", "rsi", "r8", "r9",
		       "r10", "r11", "memory", "cc");
	return a;
}
#else
static u64 test_callee(u64 value)
{
	return value;
}

static u64 pass_calls(void)
{
	return 0;
}
#endif

static noinline u64 pass_runs(void)
{
	u32 a = 0;

	asm volatile(".rept 64\n"
		     SITE(runs, ASM_RUN, __stringify(RUN_BYTES))
		     "	incl %%eax\n"
		     ".endr\n"
		     : "+a" (a) : : "cc");
	return a;
}

static noinline u32 add_prefixed(u32 *counter)
{
	u32 one = 1;

	asm volatile(SITE(prefixes, 0, "0xf0")
		     "	xaddl %0, %1\n"
		     : "+r" (one), "+m" (*counter) : : "cc", "memory");
	return one;
}

/* Compiled without LOCK; what it is given is never taken away. */
static noinline u32 add_unlocked(u32 *counter)
{
	u32 one = 1;

	asm volatile(SITE(prefixes, 1, "0x3e")
		     "	xaddl %0, %1\n"
		     : "+r" (one), "+m" (*counter) : : "cc", "memory");
	return one;
}

static const char owner[] = "test_kinds";
static struct patcher_site sites[MAX_SITES];
static struct patcher_table table = { .sites = sites, .owner = owner };
static struct patcher_poke pokes[MAX_SITES];
static const struct record *records, *records_end;
/* Which of its two instructions each site holds. */
static u8 state[MAX_SITES];
static bool registered;

static u8 *record_addr(const struct record *record)
{
	return (u8 *)&record->addr + record->addr;
}

static unsigned int record_len(const struct record *record)
{
	if (record->kind >= RUN)
		return RUN_LEN;
	if (record->kind >= JCC)
		return 2;
	return record->kind == CALL32 ? 5 : kinds[record->kind].len;
}

static void get_insn(const struct record *record, unsigned int which, u8 *insn)
{
	s32 displacement;

	if (record->kind >= RUN) {
		memcpy(insn, run_insn[which], RUN_LEN);
	} else if (record->kind >= JCC) {
		/* Conditions come in pairs of opposites. */
		insn[0] = 0x70 + ((record->kind - JCC) ^ which);
		insn[1] = 5;
	} else if (record->kind == CALL32 && which) {
		displacement = (long)test_callee - ((long)record_addr(record) + 5);
		insn[0] = 0xe8;
		memcpy(insn + 1, &displacement, sizeof(displacement));
	} else {
		memcpy(insn, kinds[record->kind == CALL32 ? JMP32 : record->kind].insn[which],
		       record_len(record));
	}
}

static int register_records(const struct record *first, const struct record *end, u16 flags)
{
	int err;

	records = first;
	records_end = end;
	for (table.nr = 0; first < end; first++, table.nr++) {
		struct patcher_site *site = &sites[table.nr];

		site->addr = (long)record_addr(first) - (long)&site->addr;
		site->key = 0;
		site->len = flags & PATCHER_SITE_PREFIX ? 1 : record_len(first);
		site->flags = flags;
	}
	table.module = THIS_MODULE;
	memset(state, 0, sizeof(state));
	err = patcher_register(&table);
	registered = !err;
	return err;
}

static void fill(struct patcher_poke *poke, unsigned int site)
{
	const struct record *record = &records[site];

	memset(poke, 0, sizeof(*poke));
	poke->addr = record_addr(record);
	poke->len = record_len(record);
	get_insn(record, state[site], poke->old);
	get_insn(record, !state[site], poke->new);
}

/* @nr sites in a row, beginning with @first and going round, to their other state. */
static int flip(unsigned int first, unsigned int nr)
{
	unsigned int i, all = records_end - records;
	int err;

	for (i = 0; i < nr; i++)
		fill(&pokes[i], (first + i) % all);
	err = patcher_apply(owner, pokes, nr);
	for (i = 0; i < nr && !err; i++)
		state[(first + i) % all] ^= 1;
	return err;
}

static int flip_all(void)
{
	return flip(0, records_end - records);
}

/* To the first state, in which the code was compiled. */
static int flip_back(void)
{
	unsigned int i, nr = 0;
	int err;

	for (i = 0; i < records_end - records; i++)
		if (state[i])
			fill(&pokes[nr++], i);
	err = nr ? patcher_apply(owner, pokes, nr) : 0;
	if (!err)
		memset(state, 0, sizeof(state));
	return err;
}

void kinds_forget(void)
{
	if (!registered)
		return;
	flip_back();
	patcher_unregister(&table);
	registered = false;
}

/* Two patterns of flags that take each condition, and not. */
#define NR_PASSES	7
#define PASS_MANY	6

static u64 pass_number(unsigned int i)
{
	switch (i) {
	case 0:
		return pass_branches();
	case 1:
		return pass_moves();
	case 2:
		return pass_calls();
	case 3:
		return pass_conditions(0x00, 0);
	case 4:
		return pass_conditions(0xc5, 1);
	case 5:
		return pass_conditions(0x81, 0);
	default:
		return pass_many();
	}
}

/*
 * What passes give after each flip, for the last few; and how often one gave
 * anything else.
 */
#define KEPT	4

static u64 expected[KEPT][NR_PASSES];
static unsigned long started, done, wrong;
/* The passes that meet the sites of this storm. */
static unsigned int first_pass, end_pass;

/*
 * started and done count flips: a pass that begins when done is d and ends when
 * started is d has seen no change.
 */
static void check_pass(void)
{
	unsigned long low;
	unsigned int i;
	u64 seen, right;

	for (i = first_pass; i < end_pass; i++) {
		low = smp_load_acquire(&done);
		seen = pass_number(i);
		/* Before the look at the flips: it may be overwritten by later ones. */
		right = smp_load_acquire(&expected[low % KEPT][i]);
		if (low == READ_ONCE(started) && seen != right)
			WRITE_ONCE(wrong, wrong + 1);
	}
}

/* How many sites of a kind hold the second instruction. */
static u64 count_second(enum kind kind)
{
	unsigned int i;
	u64 nr = 0;

	for (i = 0; i < records_end - records; i++)
		nr += records[i].kind == kind && state[i];
	return nr;
}

static u64 branches_left(unsigned int copies)
{
	return copies - count_second(JMP32) + ((copies - count_second(JMP8)) << 16) +
	       ((copies - count_second(JCC8)) << 32) + ((copies - count_second(JCC32)) << 48);
}

/*
 * Conditions and moves are run by the one who has just changed them; of the
 * others it is known how many count.
 */
static u64 expected_of(unsigned int pass)
{
	switch (pass) {
	case 0:
		return branches_left(COPIES);
	case 2:
		return test_callee(0) ? count_second(CALL32) : 0;
	case PASS_MANY:
		return branches_left(MANY_COPIES);
	default:
		return pass_number(pass);
	}
}

static void expect_passes(unsigned long flips)
{
	unsigned int i;

	for (i = first_pass; i < end_pass; i++)
		WRITE_ONCE(expected[flips % KEPT][i], expected_of(i));
}

static void check_run(void)
{
	if (pass_runs() != 64)
		WRITE_ONCE(wrong, wrong + 1);
}

/*
 * Every site is changed again and again: of few, up to all at a time; of
 * thousands, and of runs, all.
 */
static const char *storm(void (*pass)(void), unsigned int flips)
{
	unsigned int i, all = records_end - records, first = 0;
	bool few = pass == check_pass && all <= FEW;
	unsigned long number = done;
	int err = 0;

	wrong = 0;
	EXPECT(!test_start_threads(pass));
	for (i = 0; i < flips && !err; i++) {
		unsigned int size = few ? 1 + i % all : all;

		smp_store_release(&started, ++number);
		err = flip(first, size);
		if (pass == check_pass)
			expect_passes(number);
		smp_store_release(&done, number);
		/*
		 * Who was preempted in a run must go on; and few large batches
		 * would be over before the others run.
		 */
		if (pass == check_run || (!few && i % 16 == 0))
			test_wait_pass();
		first = (first + size) % all;
	}
	EXPECT(test_stop_threads());
	EXPECT(!err);
	EXPECT(!wrong);
	return NULL;
}

static const char *check_states(void)
{
	unsigned int i;
	u64 first[NR_PASSES];

	for (i = 0; i < PASS_MANY; i++)
		first[i] = pass_number(i);
	EXPECT(first[0] == branches_left(COPIES) && first[0]);
	EXPECT(!flip_all());
	EXPECT(pass_number(0) == 0);
	EXPECT(pass_number(1) != first[1]);
	EXPECT(pass_number(2) == first[2] + (test_callee(0) ? COPIES : 0));
	/* Each condition is the opposite in the other state. */
	for (i = 3; i < PASS_MANY; i++)
		EXPECT((pass_number(i) ^ first[i]) == 0xffff);
	EXPECT(!flip_all());
	for (i = 0; i < PASS_MANY; i++)
		EXPECT(pass_number(i) == first[i]);
	return NULL;
}

static const char *storm_passes(unsigned int first, unsigned int end, unsigned int flips)
{
	first_pass = first;
	end_pass = end;
	started = done = 0;
	expect_passes(0);
	return storm(check_pass, flips);
}

const char *patcher_storm_kinds(void)
{
	const char *failed;

	EXPECT(!register_records(test_kinds, test_kinds_end, 0));
	failed = check_states();
	return failed ?: storm_passes(0, PASS_MANY, 10 * test_batches);
}

const char *patcher_storm_thousands(void)
{
	EXPECT(test_many_end - test_many >= MANY);
	EXPECT(test_many_end - test_many <= MAX_SITES);
	EXPECT(!register_records(test_many, test_many_end, 0));
	return storm_passes(PASS_MANY, NR_PASSES, test_batches / 10);
}

const char *patcher_storm_runs(void)
{
	unsigned int nr = test_runs_end - test_runs;
	int err;

	EXPECT(nr <= MAX_SITES);
	err = register_records(test_runs, test_runs_end, PATCHER_SITE_RUN);
	if (!test_can_wait()) {
		EXPECT(err == -EPERM);
		return NULL;
	}
	EXPECT(!err);
	/* Each change of a run waits for a tasks-RCU grace period. */
	return storm(check_run, (test_batches / 50 + 8) & ~1U);
}

static int exchange(const char *who, u8 *addr, u8 old, u8 new)
{
	memset(&pokes[0], 0, sizeof(pokes[0]));
	pokes[0].addr = addr;
	pokes[0].len = 1;
	pokes[0].old[0] = old;
	pokes[0].new[0] = new;
	return patcher_store_prefixes(who, pokes, 1);
}

/* With any number of CPUs: an instruction gets its LOCK. */
static const char *gets_lock(u8 *prefix)
{
	struct patcher_stats before, after;
	u32 counter = 5;

	patcher_read_stats(&before);
	/* An earlier run has done it already. */
	EXPECT(exchange(owner, prefix, *prefix, 0xf0) == 0 && *prefix == 0xf0);
	patcher_read_stats(&after);
	EXPECT(after.rounds == before.rounds + 1 && after.refused == before.refused);
	EXPECT(test_alone() || exchange(owner, prefix, 0xf0, 0x3e) == -EBUSY);
	EXPECT(*prefix == 0xf0);
	EXPECT(add_unlocked(&counter) == 5 && counter == 6);
	return NULL;
}

/* Nothing, and the same site twice. */
static const char *prefixes_refused(u8 *prefix)
{
	struct patcher_stats before, after;

	patcher_read_stats(&before);
	EXPECT(exchange(owner, prefix, 0xf0, 0x90) == -EINVAL);
	EXPECT(exchange(owner + 1, prefix, 0xf0, 0xf0) == -EPERM);
	EXPECT(exchange(owner, prefix + 1, 0xf0, 0xf0) == -ENOENT);
	EXPECT(exchange(owner, prefix, 0x3e, 0xf0) == -EILSEQ);
	EXPECT(exchange(owner, prefix, 0xf0, 0xf0) == 0);
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
	/* Whichever of the two functions the compiler has put first. */
	const struct record *second = test_prefixes + !test_prefixes->kind;
	u8 *prefix = record_addr(test_prefixes + test_prefixes->kind);
	struct patcher_stats before, after;
	int err = test_alone() ? 0 : -EBUSY;
	u32 counter = 5;

	EXPECT(!register_records(test_prefixes, test_prefixes_end, PATCHER_SITE_PREFIX));
	EXPECT(add_prefixed(&counter) == 5 && counter == 6);
	patcher_read_stats(&before);
	EXPECT(exchange(owner, prefix, 0xf0, 0x3e) == err);
	EXPECT(*prefix == (err ? 0xf0 : 0x3e));
	EXPECT(add_prefixed(&counter) == 6 && counter == 7);
	patcher_read_stats(&after);
	EXPECT(after.rounds - before.rounds == (err ? 0 : 1));
	if (!err) {
		EXPECT(exchange(owner, prefix, 0xf0, 0x3e) == -EILSEQ);
		EXPECT(exchange(owner, prefix, 0x3e, 0xf0) == 0 && *prefix == 0xf0);
	}
	EXPECT(exchange(owner, prefix + 1, 0xf0, 0x3e) == -ENOENT);
	EXPECT(patcher_apply(owner, pokes, 1) == -ENOENT);
	pokes[0].addr = prefix;
	EXPECT(patcher_apply(owner, pokes, 1) == -EINVAL);
	EXPECT(*prefix == 0xf0);
	return gets_lock(record_addr(second)) ?: prefixes_refused(prefix);
}
