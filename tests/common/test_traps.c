// SPDX-License-Identifier: GPL-2.0-only
/* Permanent breakpoints: a nop gets one, becomes a jump, gets one again. */
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

/* Results of a pass; if anything is done twice, or half, the result is another number. */
#define JUMPED	0
#define PASSED	1
#define TRAPPED	2

static noinline int read_site(void)
{
	int sum = 0;

	asm volatile("test_trapped:\n\t"
		     ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n\t"
		     ".byte 0x05, 1, 0, 0, 0"
		     : "+a" (sum) : : "cc");
	return sum;
}

static bool ours = true;

static bool on_trap(const struct patcher_table *table, const struct patcher_site *site,
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
static struct patcher_table table = { .sites = &site, .nr = 1, .owner = owner, .trap = on_trap };
static bool registered;

static int start(bool (*trap)(const struct patcher_table *table, const struct patcher_site *site,
			      struct pt_regs *regs))
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

static int change(const u8 *old, const u8 *new)
{
	struct patcher_poke poke = { .addr = test_site_trapped, .len = INSN };

	memcpy(poke.old, old, INSN);
	memcpy(poke.new, new, INSN);
	return patcher_store_traps(owner, &poke, 1);
}

static int replace(const u8 *old, const u8 *new)
{
	struct patcher_poke poke = { .addr = test_site_trapped, .len = INSN };

	memcpy(poke.old, old, INSN);
	memcpy(poke.new, new, INSN);
	return patcher_apply(owner, &poke, 1);
}

void traps_forget(void)
{
	if (!registered)
		return;
	WRITE_ONCE(ours, true);
	if (replace(nop_trap, nop) && replace(jump_trap, nop))
		replace(jump, nop);
	patcher_unregister(&table);
	registered = false;
}

static unsigned long rounds(void)
{
	struct patcher_stats stats;

	patcher_read_stats(&stats);
	return stats.rounds;
}

const char *patcher_traps(void)
{
	unsigned long before;

	EXPECT(!start(on_trap));
	EXPECT(read_site() == PASSED);
	before = rounds();
	EXPECT(!change(nop, nop_trap));
	EXPECT(rounds() == before + 1);
	EXPECT(!memcmp(test_site_trapped, nop_trap, INSN));
	EXPECT(read_site() == TRAPPED);
	/* To a jump and back: the tail stays that of the jump. */
	EXPECT(!replace(nop_trap, jump));
	EXPECT(rounds() == before + 4);
	EXPECT(read_site() == JUMPED);
	EXPECT(!change(jump, jump_trap));
	EXPECT(rounds() == before + 5);
	EXPECT(read_site() == TRAPPED);
	EXPECT(!replace(jump_trap, nop));
	EXPECT(read_site() == PASSED);
	EXPECT(!change(nop, nop_trap));
	EXPECT(!change(nop_trap, nop));
	EXPECT(rounds() == before + 10);
	EXPECT(read_site() == PASSED);
	return NULL;
}

const char *patcher_refuses_traps(void)
{
	static const u8 other_tail[INSN] = { 0xcc, 0x1f, 0x44, 0x00, 0x01 };
	static const u8 none[INSN] = { 0x1f, 0x1f, 0x44, 0x00, 0x00 };

	EXPECT(change(nop, nop_trap) == -ENOENT);
	/* A table without a trap function cannot have permanent breakpoints. */
	EXPECT(!start(NULL));
	EXPECT(change(nop, nop_trap) == -EPERM);
	patcher_unregister(&table);
	EXPECT(!start(on_trap));
	EXPECT(change(nop, other_tail) == -EINVAL);
	EXPECT(change(nop, jump) == -EINVAL);
	EXPECT(change(nop, nop) == -EINVAL);
	EXPECT(change(nop_trap, nop_trap) == -EINVAL);
	EXPECT(change(nop_trap, none) == -EINVAL);
	EXPECT(change(nop_trap, nop) == -EILSEQ);
	EXPECT(replace(nop, nop_trap) == -EINVAL);
	EXPECT(!memcmp(test_site_trapped, nop, INSN));
	EXPECT(read_site() == PASSED);
	return NULL;
}

static atomic_long_t torn;
static atomic_long_t seen[3];

static void pass_site(void)
{
	int what = read_site();

	if (what < 0 || what > TRAPPED)
		atomic_long_inc(&torn);
	else
		atomic_long_inc(&seen[what]);
}

/* Change the site from each state to the next one, in a cycle. */
static int storm(unsigned int batches)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < batches && !err; i++) {
		err = change(nop, nop_trap);
		/* Breakpoints are set only for a short time: let each thread make a whole pass. */
		if (!(i % 64))
			test_wait_whole_pass();
		err = err ?: replace(nop_trap, jump) ?: change(jump, jump_trap) ?:
		      replace(jump_trap, nop);
	}
	return err;
}

const char *patcher_storm_traps(void)
{
	unsigned long passes;
	int err;

	atomic_long_set(&torn, 0);
	memset(seen, 0, sizeof(seen));
	EXPECT(!start(on_trap));
	EXPECT(!test_start_threads(pass_site));
	err = storm(test_batches / 4 + 1);
	passes = test_stop_threads();
	EXPECT(!err);
	EXPECT(passes);
	EXPECT(!atomic_long_read(&torn));
	EXPECT(atomic_long_read(&seen[JUMPED]) + atomic_long_read(&seen[PASSED]) +
	       atomic_long_read(&seen[TRAPPED]) == passes);
	EXPECT(atomic_long_read(&seen[TRAPPED]));
	EXPECT(read_site() == PASSED);
	return NULL;
}
