// SPDX-License-Identifier: GPL-2.0-only
/*
 * A stress test of changes in core text: a branch in lcm() and a constant in int_pow() are replaced
 * repeatedly, while a thread on each CPU calls the functions and checks their results.
 */
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/lcm.h>
#include <linux/sched.h>
#include <linux/string.h>

#include <kmarkers/redirect.h>

#include "../common/cases.h"

#define SEARCHED	96
#define MAX_STATES	4
/*
 * Number of changes after which both sites have held each of their forms, and hold the first form
 * again.
 */
#define ALL_FORMS	12

/**
 * struct changed - one instruction of the kernel that is replaced by several forms in turn
 * @core: site of the instruction, as registered with the patcher
 * @call: function that calls the kernel function with this instruction
 * @insn: bytes of each form; the first form is the kernel's own
 * @result: return value of @call with each form
 * @nr: number of forms
 * @registered: true while the site is registered
 * @compared: number of results that were checked; a result is checked only if at most one change
 *	ran during the call
 */
struct changed {
	struct patcher_core_site core;
	unsigned long (*call)(void);
	u8 insn[MAX_STATES][PATCHER_INSN_MAX];
	unsigned long result[MAX_STATES];
	unsigned int nr;
	bool registered;
	unsigned long compared;
};

static const char owner[] = "core_storm";
static struct changed sites[2];
/* Number of changes that have begun, of changes that have ended, and of wrong results. */
static unsigned long started, done, wrong;

static unsigned long call_lcm(void)
{
	return lcm(4, 6);
}

static unsigned long call_int_pow(void)
{
	return int_pow(3, 2);
}

static void add_insn_form(struct changed *site, const void *insn, unsigned long result)
{
	memcpy(site->insn[site->nr], insn, site->core.len);
	site->result[site->nr++] = result;
}

/*
 * Return true if @text is the instruction "test %rdi,%rdi" or "test %rsi,%rsi", followed by a je or
 * a jne.  Set @len to the length of this branch.
 */
static bool is_test_and_branch(const u8 *text, u8 *len)
{
	if (text[0] != 0x48 || text[1] != 0x85 || (text[2] != 0xff && text[2] != 0xf6))
		return false;
	*len = (text[3] & 0xfe) == 0x74 ? 2 : text[3] == 0x0f && (text[4] & 0xfe) == 0x84 ? 6 : 0;
	return *len;
}

/*
 * Add to @site an instruction with which the function always returns @result: a nop if @result
 * equals @not_taken, the result when the branch is not taken; else a jump.  If the branch has 6
 * bytes, add no jump.
 */
static void add_nop_or_jump(struct changed *site, unsigned long result, unsigned long not_taken)
{
	u8 len = site->core.len, jmp[2] = { 0xeb, site->insn[0][1] };

	if (result == not_taken)
		add_insn_form(site, len == 2 ? "\x66\x90" : "\x66\x0f\x1f\x44\x00\x00", result);
	else if (len == 2)
		add_insn_form(site, jmp, result);
}

static int find_lcm_branch(struct changed *site)
{
	const u8 *text = (const u8 *)lcm;
	unsigned long offset, not_taken;
	u8 len = 0, insn[6];

	for (offset = 0; offset < SEARCHED && !is_test_and_branch(text + offset, &len); offset++)
		;
	if (offset == SEARCHED)
		return -ENOENT;
	offset += 3;
	site->core = (struct patcher_core_site) {
		.function = "lcm", .offset = offset, .len = len, .owner = owner,
	};
	site->call = call_lcm;
	memcpy(insn, text + offset, len);
	not_taken = insn[len == 2 ? 0 : 1] & 1 ? 0 : 12;
	/*
	 * The tested argument is not zero: je is not taken, jne is taken.  The order of the forms
	 * is: the original branch, a nop or jump with the opposite result, the inverted branch, a
	 * nop or jump with the original result.
	 */
	add_insn_form(site, insn, 12);
	add_nop_or_jump(site, 0, not_taken);
	insn[len == 2 ? 0 : 1] ^= 1;
	add_insn_form(site, insn, 0);
	add_nop_or_jump(site, 12, not_taken);
	return 0;
}

/* Find the instruction mov $1,%reg in int_pow(), which loads the initial value of the product. */
static int find_int_pow_constant(struct changed *site)
{
	const u8 *text = (const u8 *)int_pow;
	unsigned long offset;
	unsigned int high, i;
	u8 insn[6];

	for (offset = 0; offset < SEARCHED; offset++)
		if ((text[offset] & 0xf8) == 0xb8 && !memcmp(text + offset + 1, "\1\0\0\0", 4))
			break;
	if (!offset || offset == SEARCHED)
		return -ENOENT;
	high = text[offset - 1] == 0x41;
	offset -= high;
	site->core = (struct patcher_core_site) {
		.function = "int_pow", .offset = offset, .len = 5 + high, .owner = owner,
	};
	site->call = call_int_pow;
	memcpy(insn, text + offset, site->core.len);
	for (i = 1; i <= 3; i++) {
		insn[1 + high] = i;
		add_insn_form(site, insn, 9 * i);
	}
	return 0;
}

/*
 * Call the changed function once.  If at most one change ran meanwhile, the function must return
 * the result of the form before or after the change.
 */
static void call_and_count_wrong_result(struct changed *site)
{
	unsigned long low = smp_load_acquire(&done), high;
	unsigned long seen = site->call();

	/* The call must end before @started is read. */
	smp_mb();
	high = READ_ONCE(started);
	if (high > low + 1)
		return;
	WRITE_ONCE(site->compared, READ_ONCE(site->compared) + 1);
	if (seen != site->result[low % site->nr] && seen != site->result[high % site->nr])
		WRITE_ONCE(wrong, READ_ONCE(wrong) + 1);
}

static void check_storm_results(void)
{
	unsigned int i;

	for (i = 0; i < 64; i++)
		call_and_count_wrong_result(&sites[i % ARRAY_SIZE(sites)]);
}

/*
 * In one batch, replace the instruction of each site by the form with the index @number % site->nr.
 */
static int store_forms_at_sites(unsigned long number)
{
	struct patcher_poke pokes[ARRAY_SIZE(sites)] = { };
	/* Order the pokes by address, so that the patcher need not sort them. */
	unsigned int first = sites[0].core.addr > sites[1].core.addr, i;

	for (i = 0; i < ARRAY_SIZE(sites); i++) {
		struct changed *site = &sites[i ^ first];

		pokes[i].addr = site->core.addr;
		pokes[i].len = site->core.len;
		memcpy(pokes[i].old, site->insn[done % site->nr], site->core.len);
		memcpy(pokes[i].new, site->insn[number % site->nr], site->core.len);
	}
	return patcher_apply(owner, pokes, ARRAY_SIZE(pokes));
}

/* Make changes in proportion to test_batches, and end with the first form of both sites. */
static int change_storm_sites_repeatedly(void)
{
	unsigned int changes = roundup(test_batches / 32 + 1, ALL_FORMS);
	int err = 0;

	for (; changes && !err; changes--) {
		smp_store_release(&started, done + 1);
		err = store_forms_at_sites(done + 1);
		if (!err)
			smp_store_release(&done, done + 1);
		schedule_timeout_uninterruptible(1);
	}
	if (done % ALL_FORMS)
		err = err ?: store_forms_at_sites(roundup(done, ALL_FORMS));
	return err;
}

static int register_storm_sites(void)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < ARRAY_SIZE(sites) && !err; i++) {
		err = patcher_core_register(&sites[i].core);
		sites[i].registered = !err;
	}
	return err;
}

static bool is_text_unchanged(const u8 (*text)[SEARCHED])
{
	return !memcmp(text[0], lcm, SEARCHED) && !memcmp(text[1], int_pow, SEARCHED);
}

const char *core_text_storm(void)
{
	u8 text[2][SEARCHED];
	int err;

	memset(sites, 0, sizeof(sites));
	started = done = wrong = 0;
	memcpy(text[0], lcm, SEARCHED);
	memcpy(text[1], int_pow, SEARCHED);
	err = find_lcm_branch(&sites[0]) ?: find_int_pow_constant(&sites[1]);
	if (err && IS_ENABLED(CONFIG_CC_IS_CLANG))
		return "SKIP this test does not know clang's code of lcm() or int_pow()";
	EXPECT(!err);
	EXPECT(!register_storm_sites());
	EXPECT(!test_start_threads(check_storm_results));
	err = change_storm_sites_repeatedly();
	EXPECT(test_stop_threads());
	EXPECT(!err);
	EXPECT(!wrong);
	EXPECT(sites[0].compared && sites[1].compared);
	EXPECT(is_text_unchanged(text));
	return NULL;
}

void core_storm_cleanup(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sites); i++)
		sites[i].registered = sites[i].registered &&
				      patcher_core_unregister(&sites[i].core);
}
