// SPDX-License-Identifier: GPL-2.0-only
/*
 * Replace instructions in three rounds while CPUs execute them, and handle the breakpoints
 * that CPUs hit during the replacement.  apply_poke_chunk() describes the protocol.
 */
#include <linux/atomic.h>
#include <linux/errno.h>
#include <linux/kprobes.h>
#include <linux/processor.h>
#include <linux/ptrace.h>
#include <linux/string.h>
#include <linux/timekeeping.h>

#include <kmarkers/opcodes.h>
#include <kmarkers/search.h>

#include "insn.h"
#include "protocol.h"
#include "sites.h"
#include "stats.h"
#include "text.h"

/**
 * struct current_batch - the batch that the breakpoint handler reads
 * @pokes: the replacements, sorted by address; valid while @refs is not 0
 * @nr: number of replacements
 * @refs: reference count: 1 while the batch is published, plus 1 per handler that reads it.
 *	Set with release after @pokes and @nr; handlers use atomic_inc_not_zero().
 * @number: sequence number, incremented after each batch is published and before the first int3 of
 *	the batch is written; also incremented before permanent breakpoints are set or removed
 */
struct current_batch {
	struct patcher_poke *pokes;
	unsigned int nr;
	atomic_t refs;
	unsigned int number;
};

/* The breakpoint handler reads this object without holding patcher_lock(). */
static struct current_batch current_batch;

static bool bytes_are_only_nops(const u8 *bytes, unsigned int len)
{
	struct patcher_insn insn;
	unsigned int at;

	for (at = 0; at < len; at += insn.len)
		if (patcher_insn_decode(bytes + at, len - at, &insn) ||
		    insn.kind != PATCHER_INSN_NOP)
			return false;
	return true;
}
NOKPROBE_SYMBOL(bytes_are_only_nops);

/* Return true if the bytes of a site are only nops, or a jump to the end of the site. */
static bool bytes_have_no_effect(const u8 *bytes, unsigned int len)
{
	struct patcher_insn insn;

	if (bytes_are_only_nops(bytes, len))
		return true;
	return !patcher_insn_decode(bytes, len, &insn) && insn.kind == PATCHER_INSN_JMP &&
	       insn.len + insn.imm == len;
}
NOKPROBE_SYMBOL(bytes_have_no_effect);

/*
 * Choose the instruction to emulate at a breakpoint, and return 0:
 * - the new bytes, if they are one instruction
 * - else a nop of the site's length, if the site has the flag PATCHER_SITE_RUN, and its new or old
 *   bytes have no effect
 * Return -EINVAL if there is no instruction to emulate.
 */
int patcher_choose_emulated_insn(const struct patcher_poke *poke, struct patcher_insn *insn)
{
	if (!patcher_insn_decode(poke->new, poke->len, insn) && insn->len == poke->len)
		return 0;
	if (!(poke->flags & PATCHER_SITE_RUN))
		return -EINVAL;
	if (!bytes_have_no_effect(poke->new, poke->len) &&
	    !bytes_have_no_effect(poke->old, poke->len))
		return -EINVAL;
	memset(insn, 0, sizeof(*insn));
	insn->kind = PATCHER_INSN_NOP;
	insn->len = poke->len;
	return 0;
}
NOKPROBE_SYMBOL(patcher_choose_emulated_insn);

static void sync_all_cpus(void)
{
	u64 start = ktime_get_ns();

	patcher_text_sync();
	patcher_record_longest_ns(&patcher_get_stats_locked()->longest_round_ns, start);
	patcher_get_stats_locked()->rounds++;
}

/* Write all bytes of a site but the first.  For a constant length the compiler inlines memcpy(). */
static void write_tail_bytes(struct patcher_poke *poke)
{
	if (poke->len == PATCHER_COMMON_LEN)
		memcpy(poke->alias + 1, poke->new + 1, PATCHER_COMMON_LEN - 1);
	else
		memcpy(poke->alias + 1, poke->new + 1, poke->len - 1);
}

static void write_first_bytes(struct patcher_poke *pokes, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		WRITE_ONCE(*pokes[i].alias, pokes[i].new[0]);
}

/*
 * Increment the sequence number of a batch.  This function must be called before the int3s of the
 * batch are written; otherwise is_foreign_int3() would return true for these int3s.
 */
static void increment_batch_number(struct current_batch *batch)
{
	/* Pairs with the acquire in patcher_handle_int3(). */
	smp_store_release(&batch->number, batch->number + 1);
	/*
	 * Pairs with smp_rmb() in is_foreign_int3(): the number becomes visible before any int3 of
	 * the batch.
	 */
	smp_wmb();
}

/*
 * Return true if the old bytes of any site are several instructions, so that a task may be
 * preempted between them.
 */
static bool pokes_replace_several_insns(const struct patcher_poke *pokes, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (pokes[i].flags & PATCHER_SITE_RUN &&
		    !patcher_is_single_insn(pokes[i].old, pokes[i].len))
			return true;
	return false;
}

/*
 * Write a chunk of a batch with the three-round protocol.  The first byte of a site is always the
 * old first byte, int3 or the new first byte.  The tail (all other bytes) changes only while the
 * first byte is int3 for every CPU:
 *
 *	publish the batch to the handler
 *	1. first bytes := int3	| synchronise: no CPU still fetches an old instruction
 *				| if sites hold several instructions, wait: no task is
 *				| preempted between the old ones
 *	2. tails := new		| synchronise: no CPU still fetches an old tail
 *	3. first bytes := new	| synchronise: no CPU still fetches an int3
 *	withdraw the batch, wait for handlers that read it
 *
 * If a handler finds no published batch, the int3 that the CPU has executed was replaced
 * since.  The handler returns to the site, which then holds a complete instruction.  If the site
 * still holds an int3, other code has set this int3: see is_foreign_int3().
 *
 * An emulator that translates code, such as QEMU, may still execute an int3 that is no
 * longer in memory.  Storing the same byte once more makes the emulator translate the new code;
 * the store has no effect on a real CPU.
 */
static void apply_poke_chunk(struct patcher_poke *pokes, unsigned int nr)
{
	struct current_batch *batch = &current_batch;
	u64 start = ktime_get_ns();
	unsigned int i;
	u8 flags = 0;

	batch->pokes = pokes;
	batch->nr = nr;
	/* Pairs with atomic_inc_not_zero() in get_current_batch(). */
	atomic_set_release(&batch->refs, 1);
	increment_batch_number(batch);

	for (i = 0; i < nr; i++) {
		flags |= pokes[i].flags;
		WRITE_ONCE(*pokes[i].alias, KMARKERS_INT3);
	}
	sync_all_cpus();
	if (flags & PATCHER_SITE_RUN && pokes_replace_several_insns(pokes, nr))
		patcher_text_wait_for_tasks();

	for (i = 0; i < nr; i++)
		write_tail_bytes(&pokes[i]);
	sync_all_cpus();

	write_first_bytes(pokes, nr);
	sync_all_cpus();

	patcher_text_store_first_bytes_again(pokes, nr);
	patcher_record_longest_ns(&patcher_get_stats_locked()->longest_trap_ns, start);

	atomic_dec(&batch->refs);
	/* Pairs with the release in put_current_batch(): after the loop no handler uses @batch. */
	while (atomic_read_acquire(&batch->refs))
		cpu_relax();
}

void patcher_write_chunks(struct patcher_poke *pokes, unsigned int nr, unsigned int chunk)
{
	unsigned int i;

	for (i = 0; i < nr; i += chunk)
		apply_poke_chunk(pokes + i, nr - i < chunk ? nr - i : chunk);
}

/* Write the new bytes of a batch, without breakpoints, to text that no CPU has executed yet. */
void patcher_write_unexecuted(struct patcher_poke *pokes, unsigned int nr, unsigned int unused)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		memcpy(pokes[i].alias, pokes[i].new, pokes[i].len);
	sync_all_cpus();
}

/* Write the prefixes of a batch, each with a store of one byte. */
void patcher_write_prefixes(struct patcher_poke *pokes, unsigned int nr, unsigned int unused)
{
	write_first_bytes(pokes, nr);
	sync_all_cpus();
}

/*
 * Set or remove permanent breakpoints, each with one store.  A breakpoint handler that is running
 * may read an int3 that is stored here.  is_foreign_int3() then returns false, because the batch
 * number is incremented first.  The bytes are stored twice, because an emulator may miss the
 * removal of an int3.
 */
void patcher_write_traps(struct patcher_poke *pokes, unsigned int nr, unsigned int chunk)
{
	increment_batch_number(&current_batch);
	patcher_write_prefixes(pokes, nr, chunk);
	patcher_text_store_first_bytes_again(pokes, nr);
}

static bool get_current_batch(struct current_batch *batch)
{
	return atomic_inc_not_zero(&batch->refs);
}
NOKPROBE_SYMBOL(get_current_batch);

static void put_current_batch(struct current_batch *batch)
{
	/* Pairs with the acquire at the end of apply_poke_chunk(). */
	atomic_dec_return_release(&batch->refs);
}
NOKPROBE_SYMBOL(put_current_batch);

static __always_inline unsigned long get_poke_addr(const void *pokes, unsigned int i)
{
	return (unsigned long)((const struct patcher_poke *)pokes)[i].addr;
}

static const struct patcher_poke *find_poke_at(const struct current_batch *batch,
					       unsigned long addr)
{
	unsigned int i = kmarkers_lower_bound(batch->pokes, batch->nr, addr, get_poke_addr);

	return i < batch->nr && (unsigned long)batch->pokes[i].addr == addr ? &batch->pokes[i] :
	       NULL;
}
NOKPROBE_SYMBOL(find_poke_at);

/* Emulate the new instruction at @addr.  Return false if the current batch has no poke at @addr. */
static bool emulate_pending_poke(unsigned long addr, struct pt_regs *regs)
{
	const struct patcher_poke *poke;
	struct patcher_insn insn;
	bool done = false;

	if (!get_current_batch(&current_batch))
		return false;
	poke = find_poke_at(&current_batch, addr);
	if (poke && !patcher_choose_emulated_insn(poke, &insn)) {
		patcher_insn_emulate(&insn, addr, regs);
		done = true;
	}
	put_current_batch(&current_batch);
	return done;
}
NOKPROBE_SYMBOL(emulate_pending_poke);

/*
 * Return true if the int3 at a site is in memory and was set by other code, such as a
 * kprobe.  An int3 of a batch is in memory only while the batch is published.  The
 * breakpoint handler reads, in this order:
 *
 *	1. the sequence number of the batch, which is then @batch_number
 *	2. the published batch, which has no poke at the site
 *	3. the byte in memory
 *	4. the sequence number once more
 *
 * A permanent breakpoint has no batch.  Before step 3, the handler calls the trap function of the
 * breakpoint, which returns false only if the breakpoint is not armed.  If the breakpoint is armed
 * after this call, first the number is incremented and then the int3 is stored, so the numbers of
 * steps 1 and 4 differ if step 3 reads this int3.
 *
 * If the byte is not int3, then the int3 that the CPU fetched was replaced since, by a batch or by
 * other code that has removed its own breakpoint.
 *
 * Suppose the byte is the int3 of a batch.  Then the batch had not ended at step 3 and was not
 * published at step 2, so the batch was published between steps 2 and 3.  The number is incremented
 * after the batch is published and before the int3 is written, thus between steps 1 and 4, so the
 * numbers of steps 1 and 4 differ.
 *
 * So if the numbers are equal, the int3 was set by other code.  If the numbers differ, the int3 may
 * belong to a batch, and the handler returns to the site, so that the CPU executes the site once
 * more.  The CPU does not return endlessly, because each return needs another batch to begin.  All
 * this remains true if the handler is interrupted between any two steps, however long.
 *
 * No step can be omitted.  If only the byte were read, the result would be wrong in two cases: a
 * batch begins between step 2 and a later read of the byte; or a batch ends between an earlier read
 * of the byte and step 2, without waiting for the handler.  If the number were incremented before
 * the batch is published, the result would be wrong for a batch published between steps 2 and 3.
 */
static bool is_foreign_int3(unsigned long addr, unsigned int batch_number)
{
	u8 byte;

	/* Read in this order: refs (in emulate_pending_poke()), the byte, the batch number. */
	smp_rmb();
	byte = READ_ONCE(*(u8 *)addr);
	/* Pairs with smp_wmb() in increment_batch_number(). */
	smp_rmb();
	return byte == KMARKERS_INT3 && READ_ONCE(current_batch.number) == batch_number;
}
NOKPROBE_SYMBOL(is_foreign_int3);

/**
 * patcher_handle_int3() - handle a breakpoint at a registered site
 * @regs: the interrupted context; ip is one past the breakpoint
 *
 * Context: any, NMI included, with preemption off.
 * Return: true if the breakpoint was handled and execution continues at @regs->ip; false if
 * other code must handle the breakpoint, such as a debugger that has set it at a site.
 */
bool patcher_handle_int3(struct pt_regs *regs)
{
	unsigned long addr = regs->ip - 1;
	/* Pairs with smp_store_release() in increment_batch_number(). */
	unsigned int number = smp_load_acquire(&current_batch.number);
	const struct patcher_table *table;
	const struct patcher_site *site;

	if (emulate_pending_poke(addr, regs)) {
		patcher_count_emulated_int3();
		return true;
	}
	site = patcher_sites_find(addr, &table);
	if (site && table->trap && table->trap(table, site, regs))
		return true;
	if (!site || is_foreign_int3(addr, number))
		return false;
	regs->ip = addr;
	patcher_count_stale_int3();
	return true;
}
NOKPROBE_SYMBOL(patcher_handle_int3);
