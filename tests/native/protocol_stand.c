// SPDX-License-Identifier: GPL-2.0-only
/*
 * Three sites for the tests of protocol.c, and wrappers of functions of the patcher (ld --wrap).
 * A wrapper calls a hook of the test, and the wrapped function.
 */
#include <string.h>

#include <linux/kernel.h>
#include <linux/ptrace.h>

#include <kmarkers/patcher.h>

#include "../../patcher/insn.h"
#include "protocol_stand.h"

#define SITES	3

const u8 protocol_nop[INSN] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
const u8 protocol_jump[INSN] = { 0xe9, 0x05, 0x00, 0x00, 0x00 };
const u8 protocol_trapped[INSN] = { INT3, 0x1f, 0x44, 0x00, 0x00 };

noinline int protocol_execute_sites(void)
{
	int first = 0, second = 0;

	asm volatile(".globl protocol_site_first, protocol_site_second\n"
		     "protocol_site_first:\n\t"
		     ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n\t"
		     "movl $1, %%eax\n"
		     "protocol_site_second:\n\t"
		     ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n\t"
		     "movl $2, %%edx"
		     : "+a" (first), "+d" (second));
	return first | second;
}

asm(".pushsection .text\n"
	".globl protocol_leaf, protocol_site_leaf\n"
	"protocol_leaf:\n"
	"	movq $-128, %rax\n"
	"1:	movq %rax, (%rsp,%rax)\n"
	"	addq $8, %rax\n"
	"	jnz 1b\n"
	"protocol_site_leaf:\n"
	"	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
	"	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
	"	movq $-128, %rdx\n"
	"2:	cmpq %rdx, (%rsp,%rdx)\n"
	"	je 3f\n"
	"	incl %eax\n"
	"3:	addq $8, %rdx\n"
	"	jnz 2b\n"
	"	ret\n"
	".popsection\n");

static const char owner[] = "protocol";
static struct patcher_site records[SITES];
static struct patcher_table table = { .sites = records, .nr = SITES, .owner = owner };
static struct patcher_poke pokes[SITES];
static bool registered;

static void fill_site_record(struct patcher_site *record, const u8 *addr)
{
	memset(record, 0, sizeof(*record));
	record->addr = (long)addr - (long)&record->addr;
	record->len = INSN;
}

bool (*protocol_trap)(const struct patcher_table *table, const struct patcher_site *site,
		      struct pt_regs *regs);

int protocol_register_sites(void)
{
	int err;

	table.trap = protocol_trap;
	fill_site_record(&records[0], protocol_site_first);
	fill_site_record(&records[1], protocol_site_second);
	fill_site_record(&records[2], protocol_site_leaf);
	err = patcher_register(&table);
	registered = !err;
	return err;
}

int protocol_change_sites(const u8 *old, const u8 *new)
{
	u8 *const addr[SITES] = {
		protocol_site_first, protocol_site_second, protocol_site_leaf,
	};
	unsigned int i;

	memset(pokes, 0, sizeof(pokes));
	for (i = 0; i < SITES; i++) {
		pokes[i].addr = addr[i];
		pokes[i].len = INSN;
		memcpy(pokes[i].old, old, INSN);
		memcpy(pokes[i].new, new, INSN);
	}
	return patcher_apply(owner, pokes, SITES);
}

int protocol_store_trap(const u8 *old, const u8 *new)
{
	struct patcher_poke poke = { .addr = protocol_site_first, .len = INSN };

	memcpy(poke.old, old, INSN);
	memcpy(poke.new, new, INSN);
	return patcher_store_traps(owner, &poke, 1);
}

void (*protocol_after_round)(void);

void __real_patcher_text_sync(void);
void __wrap_patcher_text_sync(void);

void __wrap_patcher_text_sync(void)
{
	__real_patcher_text_sync();
	if (protocol_after_round)
		protocol_after_round();
}

void (*protocol_in_handler)(void);

void __real_patcher_insn_emulate(const struct patcher_insn *insn, unsigned long addr,
				 struct pt_regs *regs);
void __wrap_patcher_insn_emulate(const struct patcher_insn *insn, unsigned long addr,
				 struct pt_regs *regs);

void __wrap_patcher_insn_emulate(const struct patcher_insn *insn, unsigned long addr,
				 struct pt_regs *regs)
{
	if (protocol_in_handler)
		protocol_in_handler();
	__real_patcher_insn_emulate(insn, addr, regs);
}

void (*protocol_in_lookup)(void);

const struct patcher_site *__real_patcher_sites_find(unsigned long addr,
					     const struct patcher_table **found);
const struct patcher_site *__wrap_patcher_sites_find(unsigned long addr,
					     const struct patcher_table **found);

const struct patcher_site *__wrap_patcher_sites_find(unsigned long addr,
					     const struct patcher_table **found)
{
	/* Take the hook atomically: several handlers may run at the same time. */
	void (*call)(void) = __atomic_exchange_n(&protocol_in_lookup, NULL, __ATOMIC_ACQ_REL);

	if (call)
		call();
	return __real_patcher_sites_find(addr, found);
}

bool (*protocol_is_probed)(const u8 *addr);

void __real_patcher_find_probed_pokes(const struct patcher_poke *pokes, unsigned int nr,
				      bool *probed);
void __wrap_patcher_find_probed_pokes(const struct patcher_poke *pokes, unsigned int nr,
				      bool *probed);

void __wrap_patcher_find_probed_pokes(const struct patcher_poke *pokes, unsigned int nr,
				      bool *probed)
{
	unsigned int i;

	__real_patcher_find_probed_pokes(pokes, nr, probed);
	for (i = 0; i < nr; i++)
		if (protocol_is_probed && protocol_is_probed(pokes[i].addr))
			probed[i] = true;
}

void protocol_restore_sites(void)
{
	protocol_is_probed = NULL;
	protocol_after_round = NULL;
	protocol_in_handler = NULL;
	__atomic_store_n(&protocol_in_lookup, NULL, __ATOMIC_RELEASE);
	if (!registered)
		return;
	protocol_change_sites(protocol_jump, protocol_nop);
	if (protocol_trap)
		protocol_store_trap(protocol_trapped, protocol_nop);
	patcher_unregister(&table);
	protocol_trap = NULL;
	registered = false;
}
