// SPDX-License-Identifier: GPL-2.0-only
/*
 * The batch engine: validation, the three-round protocol and the breakpoint
 * handler.  This is the only place where the protocol is written down.
 */
#include <linux/atomic.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/kprobes.h>
#include <linux/mutex.h>
#include <linux/processor.h>
#include <linux/ptrace.h>
#include <linux/rculist.h>
#include <linux/sort.h>
#include <linux/string.h>

#include "insn.h"
#include "sites.h"
#include "text.h"

#define INT3	0xcc

/**
 * struct current_batch - the batch that the handler may see
 * @pokes: sorted by address; valid while @refs is not 0
 * @nr: how many
 * @refs: 1 while published, plus one per handler that is looking.
 *	Set with release after @pokes and @nr; taken with inc_not_zero.
 */
struct current_batch {
	struct patcher_poke *pokes;
	unsigned int nr;
	atomic_t refs;
};

static struct {
	struct mutex lock;		/* serialises batches and registrations */
	struct current_batch batch;	/* read by the handler without the lock */
	unsigned long batches;		/* these four under the lock */
	unsigned long sites;
	unsigned long rounds;
	unsigned long refused;
	atomic_long_t hits;
	atomic_long_t stale;
} patcher = {
	.lock = __MUTEX_INITIALIZER(patcher.lock),
};

static int compare_pokes(const void *a, const void *b)
{
	const struct patcher_poke *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Everything that can be said against a batch without looking at live bytes. */
static int check_batch(const struct patcher_poke *pokes, unsigned int nr)
{
	const struct patcher_site *site;
	struct patcher_insn insn;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		const struct patcher_poke *poke = &pokes[i];

		if (!poke->len || poke->len > PATCHER_INSN_MAX)
			return -EINVAL;
		if (i && pokes[i - 1].addr + pokes[i - 1].len > poke->addr)
			return -EINVAL;
		site = sites_find((unsigned long)poke->addr);
		if (!site)
			return -ENOENT;
		if (site->len != poke->len)
			return -EINVAL;
		if (patcher_insn_decode(poke->new, poke->len, &insn) || insn.len != poke->len)
			return -EINVAL;
	}
	return 0;
}

static int check_bytes(const struct patcher_poke *pokes, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (memcmp(pokes[i].addr, pokes[i].old, pokes[i].len))
			return -EILSEQ;
	return 0;
}

static void sync_round(void)
{
	text_sync();
	patcher.rounds++;
}

static void write_first_bytes(struct patcher_poke *pokes, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		WRITE_ONCE(*pokes[i].alias, pokes[i].new[0]);
}

/*
 * The protocol.  At every moment the first byte of a site is its old one, int3
 * or its new one, and the tail changes only while the first byte is int3 for
 * every CPU:
 *
 *	publish the batch to the handler
 *	1. first bytes := int3	| synchronise: no CPU still fetches an old instruction
 *	2. tails := new		| synchronise: no CPU still fetches an old tail
 *	3. first bytes := new	| synchronise: no CPU still fetches an int3
 *	withdraw the batch, wait for handlers that look at it
 *
 * A handler that finds no batch any more was entered for an int3 that has been
 * replaced since; it returns to the site, which by now holds an instruction.
 *
 * Emulators that translate code may go on executing an int3 that was replaced
 * between their fetch and their bookkeeping.  Storing the same byte once more
 * makes them look again; no CPU is affected by it.
 */
static void apply_batch(struct patcher_poke *pokes, unsigned int nr)
{
	struct current_batch *batch = &patcher.batch;
	unsigned int i;

	batch->pokes = pokes;
	batch->nr = nr;
	/* Pairs with atomic_inc_not_zero() in get_batch(). */
	atomic_set_release(&batch->refs, 1);

	for (i = 0; i < nr; i++)
		WRITE_ONCE(*pokes[i].alias, INT3);
	sync_round();

	for (i = 0; i < nr; i++)
		memcpy(pokes[i].alias + 1, pokes[i].new + 1, pokes[i].len - 1);
	sync_round();

	write_first_bytes(pokes, nr);
	sync_round();

	if (text_rewrite_needed())
		write_first_bytes(pokes, nr);

	atomic_dec(&batch->refs);
	/* Pairs with the release in put_batch(): no handler looks any more. */
	while (atomic_read_acquire(&batch->refs))
		cpu_relax();
}

static int map_and_apply(struct patcher_poke *pokes, unsigned int nr)
{
	struct text_alias alias;
	int err;

	err = text_map(&alias, pokes, nr);
	if (err)
		return err;
	err = check_bytes(pokes, nr);
	if (!err)
		apply_batch(pokes, nr);
	text_unmap(&alias);
	return err;
}

/**
 * patcher_apply() - replace instructions on the running system
 * @pokes: the replacements; sorted in place
 * @nr: how many, at least 1
 *
 * All of them or none.  @pokes may be freed on return.
 *
 * Context: may sleep.
 * Return: 0; or, with nothing changed, -EINVAL for a length, an overlap or a
 * new instruction that cannot be emulated, -ENOENT for an address that is no
 * registered site, -EILSEQ if the live bytes are not @old, -ENOMEM.
 */
int patcher_apply(struct patcher_poke *pokes, unsigned int nr)
{
	int err;

	if (!nr)
		return -EINVAL;
	sort(pokes, nr, sizeof(*pokes), compare_pokes, NULL);

	mutex_lock(&patcher.lock);
	text_lock();
	err = check_batch(pokes, nr);
	if (!err)
		err = map_and_apply(pokes, nr);
	text_unlock();
	if (err) {
		patcher.refused++;
	} else {
		patcher.batches++;
		patcher.sites += nr;
	}
	mutex_unlock(&patcher.lock);
	return err;
}
EXPORT_SYMBOL_GPL(patcher_apply);

static bool get_batch(struct current_batch *batch)
{
	return atomic_inc_not_zero(&batch->refs);
}
NOKPROBE_SYMBOL(get_batch);

static void put_batch(struct current_batch *batch)
{
	/* Pairs with the acquire at the end of apply_batch(). */
	atomic_dec_return_release(&batch->refs);
}
NOKPROBE_SYMBOL(put_batch);

static const struct patcher_poke *find_poke(const struct current_batch *batch, unsigned long addr)
{
	unsigned int low = 0, high = batch->nr;

	while (low < high) {
		unsigned int mid = low + (high - low) / 2;
		unsigned long at = (unsigned long)batch->pokes[mid].addr;

		if (at == addr)
			return &batch->pokes[mid];
		if (at < addr)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}
NOKPROBE_SYMBOL(find_poke);

/* Emulate the pending instruction at @addr, if there is one. */
static bool emulate_pending(unsigned long addr, struct pt_regs *regs)
{
	const struct patcher_poke *poke;
	struct patcher_insn insn;
	bool done = false;

	if (!get_batch(&patcher.batch))
		return false;
	poke = find_poke(&patcher.batch, addr);
	if (poke && !patcher_insn_decode(poke->new, poke->len, &insn)) {
		patcher_insn_emulate(&insn, addr, regs);
		done = true;
	}
	put_batch(&patcher.batch);
	return done;
}
NOKPROBE_SYMBOL(emulate_pending);

/**
 * patcher_handle_int3() - deal with a breakpoint at one of our sites
 * @regs: the interrupted context; ip is one past the breakpoint
 *
 * Context: any, NMI included, with preemption off.
 * Return: true if the breakpoint was ours and @regs is set to go on.
 */
bool patcher_handle_int3(struct pt_regs *regs)
{
	unsigned long addr = regs->ip - 1;

	if (emulate_pending(addr, regs)) {
		atomic_long_inc(&patcher.hits);
		return true;
	}
	if (sites_find(addr)) {
		regs->ip = addr;
		atomic_long_inc(&patcher.stale);
		return true;
	}
	return false;
}
NOKPROBE_SYMBOL(patcher_handle_int3);

static int check_site(struct module *module, const struct patcher_site *site)
{
	unsigned long addr = patcher_site_addr(site);
	struct patcher_insn insn;

	if (!site->len || site->len > PATCHER_INSN_MAX)
		return -EINVAL;
	if (!text_owned(module, addr, site->len))
		return -EPERM;
	if (patcher_insn_decode((void *)addr, site->len, &insn) || insn.len != site->len)
		return -EINVAL;
	return 0;
}

/**
 * patcher_register() - make the sites of a table known
 * @table: sites, nr and module filled in; must stay until unregistered
 *
 * Each site must hold an instruction of its recorded length that the patcher
 * knows.
 *
 * Context: may sleep.
 * Return: 0; -EINVAL if a site holds anything else or two sites overlap; -EPERM
 * if a site is outside the module's text or in text freed after init.
 */
int patcher_register(struct patcher_table *table)
{
	unsigned int i;
	int err = 0;

	mutex_lock(&patcher.lock);
	for (i = 0; i < table->nr && !err; i++)
		err = check_site(table->module, &table->sites[i]);
	if (!err)
		err = sites_add(table);
	if (err)
		patcher.refused++;
	mutex_unlock(&patcher.lock);
	return err;
}
EXPORT_SYMBOL_GPL(patcher_register);

/**
 * patcher_unregister() - forget the sites of a table
 * @table: as registered
 *
 * Context: may sleep; waits for an RCU grace period, after which no breakpoint
 * handler looks at @table.
 */
void patcher_unregister(struct patcher_table *table)
{
	mutex_lock(&patcher.lock);
	sites_del(table);
	mutex_unlock(&patcher.lock);
	synchronize_rcu();
}
EXPORT_SYMBOL_GPL(patcher_unregister);

/**
 * patcher_read_stats() - a snapshot of the counters
 * @stats: filled in
 *
 * Context: may sleep.
 */
void patcher_read_stats(struct patcher_stats *stats)
{
	mutex_lock(&patcher.lock);
	stats->batches = patcher.batches;
	stats->sites = patcher.sites;
	stats->rounds = patcher.rounds;
	stats->refused = patcher.refused;
	mutex_unlock(&patcher.lock);
	stats->hits = atomic_long_read(&patcher.hits);
	stats->stale = atomic_long_read(&patcher.stale);
}
EXPORT_SYMBOL_GPL(patcher_read_stats);
