// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the patcher in two situations: a site holds a breakpoint of other code, or a wrong page
 * is mapped.
 */
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

/*
 * The second byte alone is a nop, too, so the handler of a breakpoint over the first byte can
 * continue at the second byte.
 */
static const u8 nop[INSN] = { 0x66, 0x90 };
static const u8 jump[INSN] = { 0xeb, 0x00 };

static noinline __used void execute_site(void)
{
	asm volatile("test_intruded:\n\t"
		     ".byte 0x66, 0x90");
}

static const char owner[] = "intruded";
static struct patcher_site site;
static struct patcher_table table = { .sites = &site, .nr = 1, .owner = owner };
static bool registered;

static int register_site(void)
{
	int err;

	site.addr = (long)test_site_intruded - (long)&site.addr;
	site.len = INSN;
	table.module = THIS_MODULE;
	err = patcher_register(&table);
	registered = !err;
	return err;
}

static int replace_intruded_insn(const u8 *old, const u8 *new)
{
	struct patcher_poke poke = { .addr = test_site_intruded, .len = INSN };

	memcpy(poke.old, old, INSN);
	memcpy(poke.new, new, INSN);
	return patcher_apply(owner, &poke, 1);
}

void intruder_cleanup(void)
{
	test_remove_breakpoint();
	test_map_wrong_page(NULL);
	if (registered)
		patcher_unregister(&table);
	registered = false;
}

/* The patcher must leave a breakpoint of other code, such as a debugger, to other handlers. */
const char *patcher_passes_on_foreign_breakpoints(void)
{
	struct patcher_stats before, after;
	int err;

	EXPECT(!register_site());
	EXPECT(!replace_intruded_insn(nop, jump));
	EXPECT(!replace_intruded_insn(jump, nop));
	patcher_read_stats(&before);
	EXPECT(!test_plant_breakpoint(test_site_intruded));
	execute_site();
	execute_site();
	err = replace_intruded_insn(nop, jump);
	EXPECT(test_remove_breakpoint() == 2);
	EXPECT(err == -EILSEQ);
	patcher_read_stats(&after);
	EXPECT(after.hits == before.hits && after.rounds == before.rounds);
	EXPECT(!replace_intruded_insn(nop, jump));
	execute_site();
	EXPECT(!replace_intruded_insn(jump, nop));
	return NULL;
}

/* The patcher must compare the bytes in its mapping with the expected bytes before a write. */
const char *patcher_refuses_a_wrong_page(void)
{
	struct patcher_stats before, after;
	int err;

	EXPECT(!register_site());
	patcher_read_stats(&before);
	EXPECT(!test_map_wrong_page(test_site_intruded));
	err = replace_intruded_insn(nop, jump);
	/* Check that the wrong page was mapped: with the right page, the test would pass, too. */
	EXPECT(test_wrong_page_was_mapped());
	EXPECT(test_wrong_page_is_unchanged());
	EXPECT(!test_map_wrong_page(NULL));
	patcher_read_stats(&after);
	EXPECT(err == -EILSEQ);
	EXPECT(after.rounds == before.rounds && after.refused == before.refused + 1);
	EXPECT(!memcmp(test_site_intruded, nop, INSN));
	EXPECT(!replace_intruded_insn(nop, jump));
	EXPECT(!replace_intruded_insn(jump, nop));
	return NULL;
}
