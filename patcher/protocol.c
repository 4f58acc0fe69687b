// SPDX-License-Identifier: GPL-2.0-only
/*
 * The protocol that writes bytes of text while CPUs execute them, in three rounds,
 * and the breakpoint handler.  This is the only place where the protocol is
 * written down.
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
 * struct current_batch - the batch that the handler may see
 * @pokes: sorted by address; valid while @refs is not 0
 * @nr: how many
 * @refs: 1 while published, plus one per handler that is looking.
 *	Set with release after @pokes and @nr; taken with inc_not_zero.
 * @number: how many batches have been published, this one included; incremented after
 *	a batch is published and before its first int3 is written
 */
struct current_batch {
	struct patcher_poke *pokes;
	unsigned int nr;
	atomic_t refs;
	unsigned int number;
};

/* The breakpoint handler reads this without the lock. */
static struct current_batch current_batch;

static bool is_nops(const u8 *bytes, unsigned int len)
{
	struct patcher_insn insn;
	unsigned int at;

	for (at = 0; at < len; at += insn.len)
		if (patcher_insn_decode(bytes + at, len - at, &insn) ||
		    insn.kind != PATCHER_INSN_NOP)
			return false;
	return true;
}
NOKPROBE_SYMBOL(is_nops);

/* Do the bytes of a site do nothing but continue behind the site? */
static bool is_skip(const u8 *bytes, unsigned int len)
{
	struct patcher_insn insn;

	if (is_nops(bytes, len))
		return true;
	return !patcher_insn_decode(bytes, len, &insn) && insn.kind == PATCHER_INSN_JMP &&
	       insn.len + insn.imm == len;
}
NOKPROBE_SYMBOL(is_skip);

/*
 * Choose the instruction to emulate for a CPU that meets the breakpoint: the new one.
 * A run is skipped as a whole, if either its new or its old bytes just skip it.
 * Return: 0, or -EINVAL if neither is possible.
 */
int patcher_choose_emulation(const struct patcher_poke *poke, struct patcher_insn *insn)
{
	if (!patcher_insn_decode(poke->new, poke->len, insn) && insn->len == poke->len)
		return 0;
	if (!(poke->flags & PATCHER_SITE_RUN))
		return -EINVAL;
	if (!is_skip(poke->new, poke->len) && !is_skip(poke->old, poke->len))
		return -EINVAL;
	memset(insn, 0, sizeof(*insn));
	insn->kind = PATCHER_INSN_NOP;
	insn->len = poke->len;
	return 0;
}
NOKPROBE_SYMBOL(patcher_choose_emulation);

static void sync_round(void)
{
	u64 start = ktime_get_ns();

	patcher_text_sync();
	patcher_keep_longest(&patcher_stats_locked()->longest_round_ns, start);
	patcher_stats_locked()->rounds++;
}

/* Nearly all sites are 5 bytes: a constant length lets the compiler inline the copy. */
static void write_tail(struct patcher_poke *poke)
{
	if (poke->len == PATCHER_INSN_USUAL)
		memcpy(poke->alias + 1, poke->new + 1, PATCHER_INSN_USUAL - 1);
	else
		memcpy(poke->alias + 1, poke->new + 1, poke->len - 1);
}

static void write_first_bytes(struct patcher_poke *pokes, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		WRITE_ONCE(*pokes[i].alias, pokes[i].new[0]);
}

/* Increment @number before a breakpoint is written, so that is_foreign() does not disown it. */
static void raise_number(struct current_batch *batch)
{
	/* Pairs with the acquire in patcher_handle_int3(). */
	smp_store_release(&batch->number, batch->number + 1);
	/* Pairs with smp_rmb() in is_foreign(): the number grows before an int3 is seen. */
	smp_wmb();
}

/* Does a batch replace several instructions, between which a task may be preempted? */
static bool replaces_run(const struct patcher_poke *pokes, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (pokes[i].flags & PATCHER_SITE_RUN &&
		    !patcher_insn_is_single(pokes[i].old, pokes[i].len))
			return true;
	return false;
}

/*
 * The protocol.  At every moment the first byte of a site is its old one, int3
 * or its new one, and the tail changes only while the first byte is int3 for
 * every CPU:
 *
 *	publish the batch to the handler
 *	1. first bytes := int3	| synchronise: no CPU still fetches an old instruction
 *				| for runs, wait: no task is still inside an old one
 *	2. tails := new		| synchronise: no CPU still fetches an old tail
 *	3. first bytes := new	| synchronise: no CPU still fetches an int3
 *	withdraw the batch, wait for handlers that look at it
 *
 * A handler that finds no batch any more was entered for an int3 that has been
 * replaced since; it returns to the site, which by now holds an instruction.  If
 * it holds an int3 all the same, that one is not ours: see is_foreign().
 *
 * Emulators that translate code may go on executing an int3 that is no longer in
 * memory.  Storing the same byte once more makes them translate again; it has no
 * effect on a real CPU.
 */
static void apply_chunk(struct patcher_poke *pokes, unsigned int nr)
{
	struct current_batch *batch = &current_batch;
	u64 start = ktime_get_ns();
	unsigned int i;
	u8 flags = 0;

	batch->pokes = pokes;
	batch->nr = nr;
	/* Pairs with atomic_inc_not_zero() in get_batch(). */
	atomic_set_release(&batch->refs, 1);
	raise_number(batch);

	for (i = 0; i < nr; i++) {
		flags |= pokes[i].flags;
		WRITE_ONCE(*pokes[i].alias, KMARKERS_INT3);
	}
	sync_round();
	if (flags & PATCHER_SITE_RUN && replaces_run(pokes, nr))
		patcher_text_wait_tasks();

	for (i = 0; i < nr; i++)
		write_tail(&pokes[i]);
	sync_round();

	write_first_bytes(pokes, nr);
	sync_round();

	patcher_text_rewrite(pokes, nr);
	patcher_keep_longest(&patcher_stats_locked()->longest_trap_ns, start);

	atomic_dec(&batch->refs);
	/* Pairs with the release in put_batch(): afterwards no handler uses the batch. */
	while (atomic_read_acquire(&batch->refs))
		cpu_relax();
}

void patcher_write_chunks(struct patcher_poke *pokes, unsigned int nr, unsigned int chunk)
{
	unsigned int i;

	for (i = 0; i < nr; i += chunk)
		apply_chunk(pokes + i, nr - i < chunk ? nr - i : chunk);
}

/* Write text that no CPU has executed yet: without breakpoints. */
void patcher_write_new(struct patcher_poke *pokes, unsigned int nr, unsigned int unused)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		memcpy(pokes[i].alias, pokes[i].new, pokes[i].len);
	sync_round();
}

/* Write single bytes, each with one store: prefixes. */
void patcher_write_prefixes(struct patcher_poke *pokes, unsigned int nr, unsigned int unused)
{
	write_first_bytes(pokes, nr);
	sync_round();
}

/*
 * Set or remove permanent breakpoints, each with one store.  A handler may still look at a
 * breakpoint that was set before; an emulator may not notice that it was removed.
 */
void patcher_write_traps(struct patcher_poke *pokes, unsigned int nr, unsigned int chunk)
{
	raise_number(&current_batch);
	patcher_write_prefixes(pokes, nr, chunk);
	patcher_text_rewrite(pokes, nr);
}

static bool get_batch(struct current_batch *batch)
{
	return atomic_inc_not_zero(&batch->refs);
}
NOKPROBE_SYMBOL(get_batch);

static void put_batch(struct current_batch *batch)
{
	/* Pairs with the acquire at the end of apply_chunk(). */
	atomic_dec_return_release(&batch->refs);
}
NOKPROBE_SYMBOL(put_batch);

static __always_inline unsigned long addr_of_poke(const void *pokes, unsigned int i)
{
	return (unsigned long)((const struct patcher_poke *)pokes)[i].addr;
}

static const struct patcher_poke *find_poke(const struct current_batch *batch, unsigned long addr)
{
	unsigned int i = kmarkers_lower_bound(batch->pokes, batch->nr, addr, addr_of_poke);

	return i < batch->nr && (unsigned long)batch->pokes[i].addr == addr ? &batch->pokes[i] :
	       NULL;
}
NOKPROBE_SYMBOL(find_poke);

/* Emulate the new instruction at @addr if the current batch has a poke there. */
static bool emulate_pending(unsigned long addr, struct pt_regs *regs)
{
	const struct patcher_poke *poke;
	struct patcher_insn insn;
	bool done = false;

	if (!get_batch(&current_batch))
		return false;
	poke = find_poke(&current_batch, addr);
	if (poke && !patcher_choose_emulation(poke, &insn)) {
		patcher_insn_emulate(&insn, addr, regs);
		done = true;
	}
	put_batch(&current_batch);
	return done;
}
NOKPROBE_SYMBOL(emulate_pending);

/*
 * Is a breakpoint at a site, for which no batch has a poke, in memory and set by
 * somebody else?  An int3 of ours is in memory only while its batch is published.
 * The handler observes, in this order:
 *
 *	1. @number of the last batch published
 *	2. no published batch has a poke at the site
 *	3. the byte in memory
 *	4. the number once more
 *
 * A permanent breakpoint has no batch.  Its trap function disowned it before 3, so it
 * was not armed then, and the number grows between that and the store.
 *
 * If the byte is not int3, it was replaced since the CPU fetched it: by a batch of
 * ours that has ended, or by somebody who removed a breakpoint.  Suppose the byte is
 * an int3 of ours.  Then its batch has not ended at 3, and was not published at 2, so
 * it was published between 2 and 3.  The number grows after the batch is published
 * and before its int3 is written, thus between 1 and 4, so the two numbers differ.
 * If they differ, the breakpoint is retried, because it may be ours.  If they are the
 * same, it is not ours.  This holds wherever the handler is interrupted and however
 * long, as a signal handler may be.  Retries end, because each one needs another
 * batch to begin.
 *
 * No step can be left out.  The byte alone, read after 2, disowns the int3 of a
 * batch that begins between 2 and the read; read before 2, it disowns the int3 of a
 * batch that ends in between, if the batch does not wait for the handler.  A number
 * that grows before the batch is published disowns the int3 of a batch that is
 * published between 2 and 3.
 */
static bool is_foreign(unsigned long addr, unsigned int number)
{
	u8 byte;

	/* Order: emulate_pending() read refs, then the byte is read, then the number. */
	smp_rmb();
	byte = READ_ONCE(*(u8 *)addr);
	/* Pairs with smp_wmb() in raise_number(). */
	smp_rmb();
	return byte == KMARKERS_INT3 && READ_ONCE(current_batch.number) == number;
}
NOKPROBE_SYMBOL(is_foreign);

/**
 * patcher_handle_int3() - handle a breakpoint at one of our sites
 * @regs: the interrupted context; ip is one past the breakpoint
 *
 * Context: any, NMI included, with preemption off.
 * Return: true if the breakpoint was ours and @regs is set so that execution goes on;
 * false if somebody else must handle it, such as a debugger that set it at our site.
 */
bool patcher_handle_int3(struct pt_regs *regs)
{
	unsigned long addr = regs->ip - 1;
	/* Pairs with smp_store_release() in raise_number(). */
	unsigned int number = smp_load_acquire(&current_batch.number);
	const struct patcher_table *table;
	const struct patcher_site *site;

	if (emulate_pending(addr, regs)) {
		patcher_count_hit();
		return true;
	}
	site = patcher_sites_find(addr, &table);
	if (site && table->trap && table->trap(table, site, regs))
		return true;
	if (!site || is_foreign(addr, number))
		return false;
	regs->ip = addr;
	patcher_count_stale();
	return true;
}
NOKPROBE_SYMBOL(patcher_handle_int3);
