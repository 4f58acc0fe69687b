// SPDX-License-Identifier: GPL-2.0-only
/* Tests of permanent breakpoints: int3 is stored over the first byte of a nop or a jump. */
#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/ptrace.h>
#include <linux/string.h>

#include <kmarkers/patcher.h>

#include "cases.h"

#define INSN	5
#define ADDITION	5

extern u8 *const test_site_trapped;

asm(".pushsection " KMARKERS_SECTION(test) ", \"aw\", @progbits\n"
	"test_site_trapped:	.quad test_trapped\n"
	".popsection");

static const u8 nop[INSN] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
static const u8 jump[INSN] = { 0xe9, ADDITION, 0x00, 0x00, 0x00 };
static const u8 nop_trap[INSN] = { 0xcc, 0x1f, 0x44, 0x00, 0x00 };
static const u8 jump_trap[INSN] = { 0xcc, ADDITION, 0x00, 0x00, 0x00 };

/* Correct results of execute_site().  Another result shows that code ran twice or not at all. */
#define JUMPED	0
#define PASSED	1
#define TRAPPED	2

static noinline int execute_site(void)
{
	int sum = 0;

	asm volatile("test_trapped:\n\t"
		     ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n\t"
		     ".byte 0x05, 1, 0, 0, 0"
		     : "+a" (sum) : : "cc");
	return sum;
}

/* Return value of skip_trapped_site(); if false, the trap is left to other handlers. */
static bool ours = true;

static bool skip_trapped_site(const struct patcher_table *table, const struct patcher_site *site,
			      struct pt_regs *regs)
{
	if (!READ_ONCE(ours))
		return false;
	regs->ax += TRAPPED;
	regs->ip = patcher_site_addr(site) + INSN + ADDITION;
	return true;
}

static const char owner[] = "trapped";
static struct patcher_site site;
static struct patcher_table table = {
	.sites = &site, .nr = 1, .owner = owner, .trap = skip_trapped_site,
};
static bool registered;

static int register_site(bool (*trap)(const struct patcher_table *table,
				      const struct patcher_site *site, struct pt_regs *regs))
{
	int err;

	site.addr = (long)test_site_trapped - (long)&site.addr;
	site.len = INSN;
	table.module = THIS_MODULE;
	table.trap = trap;
	err = patcher_register(&table);
	registered = !err;
	return err;
}

static int store_trap(const u8 *old, const u8 *new)
{
	struct patcher_poke poke = { .addr = test_site_trapped, .len = INSN };

	memcpy(poke.old, old, INSN);
	memcpy(poke.new, new, INSN);
	return patcher_store_traps(owner, &poke, 1);
}

static int replace_insn(const u8 *old, const u8 *new)
{
	struct patcher_poke poke = { .addr = test_site_trapped, .len = INSN };

	memcpy(poke.old, old, INSN);
	memcpy(poke.new, new, INSN);
	return patcher_apply(owner, &poke, 1);
}

void traps_cleanup(void)
{
	if (!registered)
		return;
	WRITE_ONCE(ours, true);
	if (replace_insn(nop_trap, nop) && replace_insn(jump_trap, nop))
		replace_insn(jump, nop);
	patcher_unregister(&table);
	registered = false;
}

static unsigned long read_number_of_rounds(void)
{
	struct patcher_stats stats;

	patcher_read_stats(&stats);
	return stats.rounds;
}

const char *patcher_sets_permanent_breakpoints(void)
{
	unsigned long before;

	EXPECT(!register_site(skip_trapped_site));
	EXPECT(execute_site() == PASSED);
	before = read_number_of_rounds();
	EXPECT(!store_trap(nop, nop_trap));
	EXPECT(read_number_of_rounds() == before + 1);
	EXPECT(!memcmp(test_site_trapped, nop_trap, INSN));
	/*
	 * Registering the table a second time fails with -EBUSY, although the table's site holds a
	 * breakpoint instead of a valid instruction now.
	 */
	EXPECT(patcher_register(&table) == -EBUSY);
	EXPECT(execute_site() == TRAPPED);
	/*
	 * Replacing the breakpoint by a jump takes three rounds.  Storing a breakpoint over the
	 * jump changes only one byte, and takes one round.
	 */
	EXPECT(!replace_insn(nop_trap, jump));
	EXPECT(read_number_of_rounds() == before + 4);
	EXPECT(execute_site() == JUMPED);
	EXPECT(!store_trap(jump, jump_trap));
	EXPECT(read_number_of_rounds() == before + 5);
	EXPECT(execute_site() == TRAPPED);
	EXPECT(!replace_insn(jump_trap, nop));
	EXPECT(execute_site() == PASSED);
	EXPECT(!store_trap(nop, nop_trap));
	EXPECT(!store_trap(nop_trap, nop));
	EXPECT(read_number_of_rounds() == before + 10);
	EXPECT(execute_site() == PASSED);
	return NULL;
}

const char *patcher_refuses_bad_traps(void)
{
	static const u8 other_tail[INSN] = { 0xcc, 0x1f, 0x44, 0x00, 0x01 };
	static const u8 none[INSN] = { 0x1f, 0x1f, 0x44, 0x00, 0x00 };

	EXPECT(store_trap(nop, nop_trap) == -ENOENT);
	/* A table without a trap function cannot have permanent breakpoints. */
	EXPECT(!register_site(NULL));
	EXPECT(store_trap(nop, nop_trap) == -EPERM);
	patcher_unregister(&table);
	EXPECT(!register_site(skip_trapped_site));
	EXPECT(store_trap(nop, other_tail) == -EINVAL);
	EXPECT(store_trap(nop, jump) == -EINVAL);
	EXPECT(store_trap(nop, nop) == -EINVAL);
	EXPECT(store_trap(nop_trap, nop_trap) == -EINVAL);
	EXPECT(store_trap(nop_trap, none) == -EINVAL);
	EXPECT(store_trap(nop_trap, nop) == -EILSEQ);
	EXPECT(replace_insn(nop, nop_trap) == -EINVAL);
	EXPECT(!memcmp(test_site_trapped, nop, INSN));
	EXPECT(execute_site() == PASSED);
	return NULL;
}

static atomic_long_t torn;
static atomic_long_t seen[3];

static void execute_site_and_count_result(void)
{
	int what = execute_site();

	if (what < 0 || what > TRAPPED)
		atomic_long_inc(&torn);
	else
		atomic_long_inc(&seen[what]);
}

/* Change the site repeatedly: from nop to breakpoint, jump, breakpoint and nop. */
static int change_trapped_site_repeatedly(unsigned int batches)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < batches && !err; i++) {
		err = store_trap(nop, nop_trap);
		/* Sometimes keep the breakpoint until each thread has executed the site. */
		if (!(i % 64))
			test_wait_for_new_pass_of_threads();
		err = err ?: replace_insn(nop_trap, jump) ?: store_trap(jump, jump_trap) ?:
		      replace_insn(jump_trap, nop);
	}
	return err;
}

const char *patcher_storm_of_traps(void)
{
	unsigned long passes;
	int err;

	atomic_long_set(&torn, 0);
	memset(seen, 0, sizeof(seen));
	EXPECT(!register_site(skip_trapped_site));
	EXPECT(!test_start_threads(execute_site_and_count_result));
	err = change_trapped_site_repeatedly(test_batches / 4 + 1);
	passes = test_stop_threads();
	EXPECT(!err);
	EXPECT(passes);
	EXPECT(!atomic_long_read(&torn));
	EXPECT(atomic_long_read(&seen[JUMPED]) + atomic_long_read(&seen[PASSED]) +
	       atomic_long_read(&seen[TRAPPED]) == passes);
	EXPECT(atomic_long_read(&seen[TRAPPED]));
	EXPECT(execute_site() == PASSED);
	return NULL;
}
