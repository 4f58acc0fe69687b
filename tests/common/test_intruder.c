// SPDX-License-Identifier: GPL-2.0-only
/* Breakpoints in sites that kmarkers did not set, and an alias of a wrong page. */
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include <kmarkers/patcher.h>

#include "cases.h"

#define INSN	2

extern u8 *const test_site_intruded;

asm(".pushsection " KMARKERS_SECTION(test) ", \"aw\", @progbits\n"
	"test_site_intruded:	.quad test_intruded\n"
	".popsection");

/* The second byte is a nop, too: a handler of a breakpoint on the first one can return there. */
static const u8 nop[INSN] = { 0x66, 0x90 };
static const u8 jump[INSN] = { 0xeb, 0x00 };

static noinline __used void pass(void)
{
	asm volatile("test_intruded:\n\t"
		     ".byte 0x66, 0x90");
}

static const char owner[] = "intruded";
static struct patcher_site site;
static struct patcher_table table = { .sites = &site, .nr = 1, .owner = owner };
static bool registered;

static int start(void)
{
	int err;

	site.addr = (long)test_site_intruded - (long)&site.addr;
	site.len = INSN;
	table.module = THIS_MODULE;
	err = patcher_register(&table);
	registered = !err;
	return err;
}

static int change(const u8 *old, const u8 *new)
{
	struct patcher_poke poke = { .addr = test_site_intruded, .len = INSN };

	memcpy(poke.old, old, INSN);
	memcpy(poke.new, new, INSN);
	return patcher_apply(owner, &poke, 1);
}

void intruder_forget(void)
{
	test_take_breakpoint();
	test_show_wrong_page(NULL);
	if (registered)
		patcher_unregister(&table);
	registered = false;
}

/* A breakpoint that kmarkers did not set, as of a debugger, is passed on to its owner. */
const char *patcher_foreign_breakpoints(void)
{
	struct patcher_stats before, after;
	int err;

	EXPECT(!start());
	EXPECT(!change(nop, jump));
	EXPECT(!change(jump, nop));
	patcher_read_stats(&before);
	EXPECT(!test_plant_breakpoint(test_site_intruded));
	pass();
	pass();
	err = change(nop, jump);
	EXPECT(test_take_breakpoint() == 2);
	EXPECT(err == -EILSEQ);
	patcher_read_stats(&after);
	EXPECT(after.hits == before.hits && after.rounds == before.rounds);
	EXPECT(!change(nop, jump));
	pass();
	EXPECT(!change(jump, nop));
	return NULL;
}

/* Before writing, the patcher compares the bytes in the alias with the expected ones. */
const char *patcher_wrong_page(void)
{
	struct patcher_stats before, after;
	int err;

	EXPECT(!start());
	patcher_read_stats(&before);
	EXPECT(!test_show_wrong_page(test_site_intruded));
	err = change(nop, jump);
	/* If the wrong page was not mapped, this case would prove nothing. */
	EXPECT(test_wrong_page_shown());
	EXPECT(test_wrong_page_untouched());
	EXPECT(!test_show_wrong_page(NULL));
	patcher_read_stats(&after);
	EXPECT(err == -EILSEQ);
	EXPECT(after.rounds == before.rounds && after.refused == before.refused + 1);
	EXPECT(!memcmp(test_site_intruded, nop, INSN));
	EXPECT(!change(nop, jump));
	EXPECT(!change(jump, nop));
	return NULL;
}
