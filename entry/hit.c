// SPDX-License-Identifier: GPL-2.0-only
/* Count the hits of enabled sites, and write records of hits to the trace. */
#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/kprobes.h>
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>

#include <kmarkers/search.h>

#include "hit.h"
#include "registry.h"

/* Number of hits dropped because RCU was not watching the CPU, as in the idle loop. */
static atomic_long_t unwatched;

/*
 * NEXT_AT and CALLER_AT are the offsets from %rsp, in bytes, of the two return addresses that
 * entry_call() passes to entry_handle_hit().  The offsets are valid after entry_call() has pushed
 * the registers.
 *
 * At an entry and at an exit, a function has no stack frame.  So in kernels that unwind by frame
 * pointers, FRAMES_BEGIN builds two frames: one with the return address into the caller, and one
 * with the return address into the function.  objtool cannot check two frames.
 */
#ifdef CONFIG_FRAME_POINTER
#define NEXT_AT "80"
#define CALLER_AT "96"
#define FRAMES_BEGIN		\
	"	pushq %rbp\n"	\
	"	pushq 16(%rsp)\n"	\
	"	pushq %rbp\n"	\
	"	movq %rsp, %rbp\n"	\
	"	pushq 24(%rsp)\n"	\
	"	pushq %rbp\n"	\
	"	movq %rsp, %rbp\n"
#define FRAMES_END		\
	"	addq $32, %rsp\n"	\
	"	popq %rbp\n"
#else
#define NEXT_AT "72"
#define CALLER_AT "80"
#define FRAMES_BEGIN
#define FRAMES_END
#endif

/*
 * Save all caller-saved registers and call entry_handle_hit().  The code around a site relies on
 * these registers, because the compiler sees no call there: at an entry they hold arguments, and
 * at an exit the return value or the arguments of a tail call.  No code relies on the flags at an
 * entry or exit.  The first bytes are an endbr64, because the address of entry_call() is taken.
 */
asm(".pushsection .text\n"
	"	.balign 16\n"
	"	.globl entry_call\n"
	"	.type entry_call, @function\n"
	"entry_call:\n"
	"	.byte 0xf3, 0x0f, 0x1e, 0xfa\n"
	FRAMES_BEGIN
	"	pushq %rax\n"
	"	pushq %rcx\n"
	"	pushq %rdx\n"
	"	pushq %rsi\n"
	"	pushq %rdi\n"
	"	pushq %r8\n"
	"	pushq %r9\n"
	"	pushq %r10\n"
	"	pushq %r11\n"
	"	movq " NEXT_AT "(%rsp), %rdi\n"
	"	movq " CALLER_AT "(%rsp), %rsi\n"
	"	call entry_handle_hit\n"
	"	popq %r11\n"
	"	popq %r10\n"
	"	popq %r9\n"
	"	popq %r8\n"
	"	popq %rdi\n"
	"	popq %rsi\n"
	"	popq %rdx\n"
	"	popq %rcx\n"
	"	popq %rax\n"
	FRAMES_END
	"	" ASM_RET
	"	.size entry_call, . - entry_call\n"
	".popsection\n");
NOKPROBE_SYMBOL(entry_call);
#ifdef CONFIG_FRAME_POINTER
STACK_FRAME_NON_STANDARD(entry_call);
#endif

static __always_inline unsigned long get_entry_site_addr(const void *sites, unsigned int i)
{
	return patcher_compact_addr((const struct patcher_compact_site *)sites + i);
}

/* Return the table of the site at an address, or NULL. Store the index of the site in @index. */
static struct entry_table *find_table_of_site(unsigned long addr, unsigned int *index)
{
	struct entry_table *table;
	struct list_head *node;
	unsigned int i;

	/*
	 * This loop avoids list_for_each_entry_rcu(), which calls lockdep: lockdep is not safe in
	 * every context.
	 */
	for (node = READ_ONCE(entry_registry.tables.next); node != &entry_registry.tables;
	     node = READ_ONCE(node->next)) {
		table = list_entry(node, struct entry_table, node);
		i = kmarkers_lower_bound(table->sites.compact, table->sites.nr, addr,
					 get_entry_site_addr);
		if (i == table->sites.nr || get_entry_site_addr(table->sites.compact, i) != addr)
			continue;
		*index = i;
		return table;
	}
	return NULL;
}

/*
 * Write a record for each trace buffer that records the event, and for perf.  The caller has
 * disabled preemption.
 */
static __always_inline void write_event_records(bool is_exit, unsigned long addr,
						unsigned long caller)
{
	const struct list_head *users = &entry_registry.users[is_exit], *node;
	const unsigned long args[] = { addr, caller };

	/*
	 * This loop avoids list_for_each_entry_rcu(), which calls lockdep: lockdep is not safe in
	 * every context.
	 */
	for (node = READ_ONCE(users->next); node != users; node = READ_ONCE(node->next))
		entry_registry.write(list_entry(node, struct entry_user, node)->to, args);
}

static void apply_site_actions(struct entry_table *table, unsigned int i, unsigned long addr,
			       unsigned long caller)
{
	u32 data = READ_ONCE(table->sites.compact[i].data);

	if (data & ENTRY_COUNT)
		atomic_long_inc(&table->counts[i]);
	if (data & ENTRY_EVENT)
		write_event_records(data & ENTRY_EXIT, addr, caller);
}

/**
 * entry_handle_hit() - handle the hit of an enabled site
 * @next: address of the instruction after the site
 * @caller: return address of the function
 *
 * Context: any, NMI included.
 */
notrace void entry_handle_hit(unsigned long next, unsigned long caller)
{
	unsigned long addr = next - ENTRY_INSN_LEN;
	struct entry_table *table;
	unsigned int i;

	preempt_disable_notrace();
	if (!rcu_is_watching()) {
		atomic_long_inc(&unwatched);
	} else {
		table = find_table_of_site(addr, &i);
		if (table)
			apply_site_actions(table, i, addr, caller);
	}
	preempt_enable_notrace();
}
NOKPROBE_SYMBOL(entry_handle_hit);

unsigned long entry_count_hits_without_rcu(void)
{
	return atomic_long_read(&unwatched);
}
