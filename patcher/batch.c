// SPDX-License-Identifier: GPL-2.0-only
/*
 * The batch engine: validation, the three-round protocol and the breakpoint
 * handler.  This is the only place where the protocol is written down.
 */
#include <linux/atomic.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/kprobes.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/processor.h>
#include <linux/ptrace.h>
#include <linux/rculist.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/timekeeping.h>

#include "insn.h"
#include "sites.h"
#include "text.h"

#define INT3		0xcc
#define PREFIX_LOCK	0xf0
#define PREFIX_DS	0x3e

/**
 * struct current_batch - the batch that the handler may see
 * @pokes: sorted by address; valid while @refs is not 0
 * @nr: how many
 * @refs: 1 while published, plus one per handler that is looking.
 *	Set with release after @pokes and @nr; taken with inc_not_zero.
 * @number: how many there were, this one included; grows when a batch has been
 *	published and none of its int3 has been written
 */
struct current_batch {
	struct patcher_poke *pokes;
	unsigned int nr;
	atomic_t refs;
	unsigned int number;
};

static struct {
	struct mutex lock;		/* serialises batches and registrations */
	struct current_batch batch;	/* read by the handler without the lock */
	struct patcher_stats stats;	/* but for hits and stale, under the lock */
	atomic_long_t hits;
	atomic_long_t stale;
} patcher = {
	.lock = __MUTEX_INITIALIZER(patcher.lock),
};

/* For core.c, whose oracles are kprobes: no batch may meet one. */
void patcher_lock(void)
{
	mutex_lock(&patcher.lock);
}

void patcher_unlock(void)
{
	mutex_unlock(&patcher.lock);
}

void patcher_assert_locked(void)
{
	lockdep_assert_held(&patcher.lock);
}

static int compare_pokes(const void *a, const void *b)
{
	const struct patcher_poke *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Callers that walk a table have the order already, and a heap sort does not notice. */
static void sort_pokes(struct patcher_poke *pokes, unsigned int nr)
{
	unsigned int i;

	for (i = 1; i < nr; i++) {
		if (pokes[i - 1].addr > pokes[i].addr) {
			sort(pokes, nr, sizeof(*pokes), compare_pokes, NULL);
			return;
		}
	}
}

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

/* Does an instruction do nothing but go to what follows the site? */
static bool is_skip(const u8 *bytes, unsigned int len)
{
	struct patcher_insn insn;

	if (is_nops(bytes, len))
		return true;
	return !patcher_insn_decode(bytes, len, &insn) && insn.kind == PATCHER_INSN_JMP &&
	       insn.len + insn.imm == len;
}
NOKPROBE_SYMBOL(is_skip);

static bool is_single(const u8 *bytes, unsigned int len)
{
	struct patcher_insn insn;

	return !patcher_insn_decode(bytes, len, &insn) && insn.len == len;
}

/*
 * What a CPU that meets the breakpoint does: the new instruction.  A run is
 * passed as a whole, if either what is new or what was old does just that.
 * Return: 0, or -EINVAL if neither can be done.
 */
static int choose_emulation(const struct patcher_poke *poke, struct patcher_insn *insn)
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
NOKPROBE_SYMBOL(choose_emulation);

static int check_poke(const char *owner, struct patcher_poke *poke, struct sites_cursor *cursor,
		      bool *core)
{
	const struct patcher_site *site;
	struct patcher_insn insn;

	if (!poke->len || poke->len > PATCHER_INSN_MAX)
		return -EINVAL;
	site = sites_walk(cursor, (unsigned long)poke->addr);
	if (!site)
		return -ENOENT;
	if (cursor->table->owner != owner)
		return -EPERM;
	if (site->len != poke->len || site->flags & PATCHER_SITE_PREFIX)
		return -EINVAL;
	poke->flags = site->flags;
	*core |= cursor->table->core;
	return choose_emulation(poke, &insn);
}

/* Everything that can be said against a batch without looking at live bytes. */
static int check_batch(const char *owner, struct patcher_poke *pokes, unsigned int nr, bool *core)
{
	struct sites_cursor cursor = { NULL };
	unsigned int i;
	int err = 0;

	for (i = 0; i < nr && !err; i++) {
		if (i && pokes[i - 1].addr + pokes[i - 1].len > pokes[i].addr)
			err = -EINVAL;
		else
			err = check_poke(owner, &pokes[i], &cursor, core);
	}
	return err;
}

/*
 * What is executed must be what the caller expects, and so must what is going to
 * be written: an alias of any other page is found out before the first store.
 */
static int check_bytes(const struct patcher_poke *pokes, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (memcmp(pokes[i].addr, pokes[i].old, pokes[i].len) ||
		    memcmp(pokes[i].alias, pokes[i].old, pokes[i].len))
			return -EILSEQ;
	return 0;
}

static void keep_longest(unsigned long *longest, u64 start)
{
	unsigned long ns = ktime_get_ns() - start;

	if (ns > *longest)
		*longest = ns;
}

static void sync_round(void)
{
	u64 start = ktime_get_ns();

	text_sync();
	keep_longest(&patcher.stats.longest_round_ns, start);
	patcher.stats.rounds++;
}

static void write_first_bytes(struct patcher_poke *pokes, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		WRITE_ONCE(*pokes[i].alias, pokes[i].new[0]);
}

/* May a task have been preempted inside what is replaced? */
static bool replaces_run(const struct patcher_poke *pokes, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (pokes[i].flags & PATCHER_SITE_RUN && !is_single(pokes[i].old, pokes[i].len))
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
 * memory.  Storing the same byte once more makes them look again; no CPU is
 * affected by it.
 */
static void apply_chunk(struct patcher_poke *pokes, unsigned int nr)
{
	struct current_batch *batch = &patcher.batch;
	u64 start = ktime_get_ns();
	unsigned int i;

	batch->pokes = pokes;
	batch->nr = nr;
	/* Pairs with atomic_inc_not_zero() in get_batch(). */
	atomic_set_release(&batch->refs, 1);
	/* Pairs with the acquire in patcher_handle_int3(). */
	smp_store_release(&batch->number, batch->number + 1);
	/* Pairs with smp_rmb() in is_foreign(): counted before an int3 is seen. */
	smp_wmb();

	for (i = 0; i < nr; i++)
		WRITE_ONCE(*pokes[i].alias, INT3);
	sync_round();
	if (replaces_run(pokes, nr))
		text_wait_tasks();

	for (i = 0; i < nr; i++)
		memcpy(pokes[i].alias + 1, pokes[i].new + 1, pokes[i].len - 1);
	sync_round();

	write_first_bytes(pokes, nr);
	sync_round();

	text_rewrite(pokes, nr);
	keep_longest(&patcher.stats.longest_trap_ns, start);

	atomic_dec(&batch->refs);
	/* Pairs with the release in put_batch(): no handler looks any more. */
	while (atomic_read_acquire(&batch->refs))
		cpu_relax();
}

static void apply_chunks(struct patcher_poke *pokes, unsigned int nr, unsigned int chunk)
{
	unsigned int i;

	for (i = 0; i < nr; i += chunk)
		apply_chunk(pokes + i, nr - i < chunk ? nr - i : chunk);
}

/* Text that no CPU has executed yet needs no breakpoint. */
static void store_new(struct patcher_poke *pokes, unsigned int nr, unsigned int unused)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		memcpy(pokes[i].alias, pokes[i].new, pokes[i].len);
	sync_round();
}

/* One store each: for bytes that are instructions, or prefixes, by themselves. */
static void store_prefixes(struct patcher_poke *pokes, unsigned int nr, unsigned int unused)
{
	write_first_bytes(pokes, nr);
	sync_round();
}

typedef void apply_function(struct patcher_poke *pokes, unsigned int nr, unsigned int chunk);

static int map_and_apply(struct patcher_poke *pokes, unsigned int nr, unsigned int chunk,
			 apply_function *apply)
{
	u64 start = ktime_get_ns(), mapped, checked, applied;
	struct text_alias alias;
	int err;

	err = text_map(&alias, pokes, nr);
	if (err)
		return err;
	mapped = ktime_get_ns();
	err = check_bytes(pokes, nr);
	checked = ktime_get_ns();
	if (!err)
		apply(pokes, nr, chunk);
	applied = ktime_get_ns();
	text_unmap(&alias);
	patcher.stats.map_ns += mapped - start + (ktime_get_ns() - applied);
	patcher.stats.check_ns += checked - mapped;
	patcher.stats.apply_ns += applied - checked;
	return err;
}

static void count_batch(int err, unsigned int nr, u64 ns)
{
	if (err) {
		patcher.stats.refused++;
		return;
	}
	patcher.stats.batches++;
	patcher.stats.sites += nr;
	patcher.stats.durations[patcher_bucket(ns)]++;
}

/* Check a batch, and let @apply make the changes, @chunk at a time. */
static int apply_batch(const char *owner, struct patcher_poke *pokes, unsigned int nr,
		       unsigned int chunk, apply_function *apply)
{
	u64 start;
	bool core = false;
	int err;

	mutex_lock(&patcher.lock);
	start = ktime_get_ns();
	sort_pokes(pokes, nr);
	err = nr && chunk ? check_batch(owner, pokes, nr, &core) : -EINVAL;
	/* What was made of the breakpoint of a kprobe is no instruction: say whose it is. */
	if (!err || err == -EINVAL)
		err = text_vet(pokes, nr, false) ?: err;
	if (!err && core)
		err = text_vet_core(pokes, nr);
	patcher.stats.check_ns += ktime_get_ns() - start;
	if (!err) {
		text_lock(core);
		keep_longest(&patcher.stats.longest_wait_ns, start);
		err = text_vet(pokes, nr, true) ?: map_and_apply(pokes, nr, chunk, apply);
		text_unlock(core);
	}
	text_settle();
	count_batch(err, nr, ktime_get_ns() - start);
	mutex_unlock(&patcher.lock);
	return err;
}

/**
 * patcher_apply_chunked() - replace instructions, a bounded number at a time
 * @owner: as in the table of every site
 * @pokes: the replacements; sorted in place
 * @nr: how many, at least 1
 * @chunk: sites that trap at the same time, at least 1
 *
 * Checked as a whole, then applied in chunks, in the order of addresses, each
 * with three rounds: a hot site traps for as long as its chunk takes, not for
 * as long as the batch does.
 *
 * Context: may sleep.
 * Return: as patcher_apply().
 */
int patcher_apply_chunked(const char *owner, struct patcher_poke *pokes, unsigned int nr,
			  unsigned int chunk)
{
	return apply_batch(owner, pokes, nr, chunk, apply_chunks);
}
EXPORT_SYMBOL_GPL(patcher_apply_chunked);

/**
 * patcher_apply() - replace instructions on the running system
 * @owner: as in the table of every site
 * @pokes: the replacements; sorted in place
 * @nr: how many, at least 1
 *
 * All of them or none.  @pokes may be freed on return.
 *
 * Context: may sleep.
 * Return: 0; or, with nothing changed, -EINVAL for a length, an overlap or a
 * new instruction that cannot be emulated, -ENOENT for an address that is no
 * registered site, -EPERM if a site is another owner's, -EBUSY if a kprobe is
 * registered on one or up to 4 bytes before, armed or not, or comes to where a new
 * jump leads at that moment, -EILSEQ if the live bytes are not @old, -ENOMEM; for
 * core text also what its vetting says.
 */
int patcher_apply(const char *owner, struct patcher_poke *pokes, unsigned int nr)
{
	return patcher_apply_chunked(owner, pokes, nr, nr ?: 1);
}
EXPORT_SYMBOL_GPL(patcher_apply);

/* Has none of the code run, as the caller promises for all sites of a module that is coming? */
static bool is_new(const struct patcher_table *table, const struct patcher_poke *pokes,
		   unsigned int nr)
{
	unsigned int i;

	if (!text_is_new(table->module))
		return false;
	for (i = 0; i < nr; i++)
		if ((unsigned long)pokes[i].addr < table->start ||
		    (unsigned long)pokes[i].addr >= table->end)
			return false;
	return true;
}

/**
 * patcher_apply_new() - replace instructions of a module that is being loaded
 * @table: its sites, registered
 * @pokes: replacements of sites of @table; sorted in place
 * @nr: how many, at least 1
 *
 * None of the module's code has run: the bytes are stored, with one round of
 * synchronisation and no breakpoint.  Where code runs from the start, as in a
 * program, this is patcher_apply().
 *
 * Context: may sleep; module notifier, MODULE_STATE_COMING.
 * Return: as patcher_apply().
 */
int patcher_apply_new(const struct patcher_table *table, struct patcher_poke *pokes,
		      unsigned int nr)
{
	return apply_batch(table->owner, pokes, nr, nr,
			   is_new(table, pokes, nr) ? store_new : apply_chunks);
}
EXPORT_SYMBOL_GPL(patcher_apply_new);

static bool is_prefix(u8 byte)
{
	return byte == PREFIX_LOCK || byte == PREFIX_DS;
}

static int check_prefixes(const char *owner, const struct patcher_poke *pokes, unsigned int nr)
{
	const struct patcher_table *table;
	const struct patcher_site *site;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		site = sites_find((unsigned long)pokes[i].addr, &table);
		if (!site)
			return -ENOENT;
		if (table->owner != owner)
			return -EPERM;
		if (!(site->flags & PATCHER_SITE_PREFIX) || pokes[i].len != 1 ||
		    !is_prefix(pokes[i].new[0]) || (i && pokes[i - 1].addr == pokes[i].addr))
			return -EINVAL;
	}
	return 0;
}

/* Does an instruction lose its LOCK?  It makes sense only while one CPU is online. */
static bool drops_lock(const struct patcher_poke *pokes, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (pokes[i].new[0] == PREFIX_DS)
			return true;
	return false;
}

/**
 * patcher_store_prefixes() - exchange LOCK and DS prefixes
 * @owner: as in the table of every site
 * @pokes: the replacements, of one byte each, at sites with PATCHER_SITE_PREFIX
 * @nr: how many, at least 1
 *
 * An instruction keeps its length and its boundaries under either prefix, so a
 * store and one round of synchronisation do.  What it loses without LOCK makes
 * sense only while a single CPU is online: with more, DS is refused and LOCK is
 * not.  Nobody watches the CPUs: the caller must be back at LOCK before another
 * one comes.  A callback for CPUs that come cannot do it, because the lock that
 * it holds is taken here.
 *
 * Context: may sleep.
 * Return: 0; or, with nothing changed, as patcher_apply(), and -EBUSY if more
 * than one CPU is online and a new byte is DS.
 */
int patcher_store_prefixes(const char *owner, struct patcher_poke *pokes, unsigned int nr)
{
	u64 start;
	int err;

	mutex_lock(&patcher.lock);
	start = ktime_get_ns();
	sort_pokes(pokes, nr);
	err = nr ? check_prefixes(owner, pokes, nr) : -EINVAL;
	if (!err) {
		text_lock(false);
		keep_longest(&patcher.stats.longest_wait_ns, start);
		err = drops_lock(pokes, nr) && !text_alone() ? -EBUSY : text_vet(pokes, nr, true);
		if (!err)
			err = map_and_apply(pokes, nr, nr, store_prefixes);
		text_unlock(false);
	}
	count_batch(err, nr, ktime_get_ns() - start);
	mutex_unlock(&patcher.lock);
	return err;
}
EXPORT_SYMBOL_GPL(patcher_store_prefixes);

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
	if (poke && !choose_emulation(poke, &insn)) {
		patcher_insn_emulate(&insn, addr, regs);
		done = true;
	}
	put_batch(&patcher.batch);
	return done;
}
NOKPROBE_SYMBOL(emulate_pending);

/*
 * A breakpoint at a site that no batch has pending: is it in memory, and not
 * ours?  Ours are in memory only while their batch is published, and our
 * observations are made in this order:
 *
 *	1. @number of the last batch published
 *	2. no batch has the site pending
 *	3. the byte
 *	4. the number once more
 *
 * A byte that is not int3 was replaced since the CPU fetched it: by our batch that
 * has ended, or by whoever took a breakpoint of his own away.  Say the byte is an
 * int3 of ours.  Then its batch has not ended at 3, and was not published at 2, so
 * it was published in between; it is counted after that and before its int3 is
 * written, thus between 1 and 4, and the numbers differ.  Then the breakpoint is
 * retried: it may be ours.  If they are the same, it is not.  This holds wherever
 * the handler is interrupted, for as long as it may be, as a signal handler is; and
 * a retry is not one without end, because each takes a batch that begins.
 *
 * Less would not do.  The byte alone, looked at after 2, disowns the int3 of a
 * batch that begins in between; looked at before 2, that of a batch that ends, if
 * the batch does not wait for the handler.  A number that grows before the batch is
 * published disowns the int3 of one that is published between 2 and 3.
 */
static bool is_foreign(unsigned long addr, unsigned int number)
{
	u8 byte;

	/* The refs that emulate_pending() found to be 0, then the byte, then the number. */
	smp_rmb();
	byte = READ_ONCE(*(u8 *)addr);
	/* Pairs with smp_wmb() in apply_chunk(). */
	smp_rmb();
	return byte == INT3 && READ_ONCE(patcher.batch.number) == number;
}
NOKPROBE_SYMBOL(is_foreign);

/**
 * patcher_handle_int3() - deal with a breakpoint at one of our sites
 * @regs: the interrupted context; ip is one past the breakpoint
 *
 * Context: any, NMI included, with preemption off.
 * Return: true if the breakpoint was ours and @regs is set to go on; false if
 * somebody else must deal with it, as with a debugger's at one of our sites.
 */
bool patcher_handle_int3(struct pt_regs *regs)
{
	unsigned long addr = regs->ip - 1;
	/* Pairs with smp_store_release() in apply_chunk(). */
	unsigned int number = smp_load_acquire(&patcher.batch.number);

	if (emulate_pending(addr, regs)) {
		atomic_long_inc(&patcher.hits);
		return true;
	}
	if (!sites_find(addr, NULL) || is_foreign(addr, number))
		return false;
	regs->ip = addr;
	atomic_long_inc(&patcher.stale);
	return true;
}
NOKPROBE_SYMBOL(patcher_handle_int3);

static int check_site(const struct patcher_table *table, const struct patcher_site *site)
{
	const u8 *bytes = (void *)patcher_site_addr(site);

	if (!site->len || site->len > PATCHER_INSN_MAX)
		return -EINVAL;
	if (!table->core && (site->flags & PATCHER_SITE_ABSOLUTE ||
			     !text_owned(table->module, (unsigned long)bytes, site->len)))
		return -EPERM;
	if (site->flags & PATCHER_SITE_RUN && site->flags & PATCHER_SITE_PREFIX)
		return -EINVAL;
	if (site->flags & PATCHER_SITE_RUN)
		return text_can_wait() && !table->core ? 0 : -EPERM;
	if (site->flags & PATCHER_SITE_PREFIX)
		return site->len == 1 && is_prefix(bytes[0]) ? 0 : -EINVAL;
	return is_single(bytes, site->len) ? 0 : -EINVAL;
}

static int register_table(struct patcher_table *table, bool allowed)
{
	int err = allowed ? 0 : -EPERM;
	unsigned int i;

	lockdep_assert_held(&patcher.lock);
	/* Sorting it would move sites that a handler may be looking for. */
	if (!err && sites_has(table))
		err = -EBUSY;
	for (i = 0; i < table->nr && !err; i++)
		err = check_site(table, &table->sites[i]);
	if (!err)
		err = sites_add(table);
	if (err)
		patcher.stats.refused++;
	return err;
}

/**
 * patcher_register() - make the sites of a table known
 * @table: sites, nr, module and owner filled in; must stay until unregistered
 *
 * Each site must hold one instruction of its recorded length that the patcher
 * knows, unless its flags say otherwise.
 *
 * Context: may sleep.
 * Return: 0; -EINVAL if a site holds anything else, is a run and a prefix, or two
 * sites overlap; -EBUSY if one overlaps a site of another table; -EPERM
 * if a site is outside the module's text or in text freed after init, or a run
 * where tasks cannot be waited for, or if the table or a site says that it is of
 * core text.
 */
int patcher_register(struct patcher_table *table)
{
	int err;

	mutex_lock(&patcher.lock);
	err = register_table(table, !table->core);
	mutex_unlock(&patcher.lock);
	return err;
}
EXPORT_SYMBOL_GPL(patcher_register);

/*
 * The same for core text: not exported.  The caller has asked whose it is, under
 * patcher_lock(), and still holds it.
 */
int patcher_register_core(struct patcher_table *table)
{
	table->core = true;
	return register_table(table, true);
}

/* Of a struct that a caller hands in again: not exported. */
bool patcher_is_registered(const struct patcher_table *table)
{
	bool is;

	mutex_lock(&patcher.lock);
	is = sites_has(table);
	mutex_unlock(&patcher.lock);
	return is;
}

/*
 * Forget the sites of a table: not exported.  The caller has found it registered,
 * under patcher_lock(), and still holds it; when he has let go, he waits for an RCU
 * grace period, after which no breakpoint handler looks at @table.
 */
void patcher_forget_table(struct patcher_table *table)
{
	lockdep_assert_held(&patcher.lock);
	/* Core text runs on: who is on the way to the handler finds the site yet. */
	if (table->core)
		synchronize_rcu();
	sites_del(table);
	patcher.stats.waits += 1 + table->core;
	text_settle();
}

/**
 * patcher_unregister() - forget the sites of a table
 * @table: as registered
 *
 * Context: may sleep; waits for an RCU grace period, after which no breakpoint
 * handler looks at @table, and for core text for another one before.
 */
void patcher_unregister(struct patcher_table *table)
{
	mutex_lock(&patcher.lock);
	patcher_forget_table(table);
	mutex_unlock(&patcher.lock);
	synchronize_rcu();
}
EXPORT_SYMBOL_GPL(patcher_unregister);

/**
 * patcher_drop() - forget the sites of a table, without waiting
 * @table: as registered; not of core text
 *
 * None of the code with the sites runs any more.  A handler of somebody else's
 * breakpoint may look at @table until an RCU grace period has passed: until then
 * it and its sites must stay, as the text and data of a module that is
 * MODULE_STATE_GOING do.
 *
 * Context: may sleep.
 */
void patcher_drop(struct patcher_table *table)
{
	mutex_lock(&patcher.lock);
	sites_del(table);
	text_settle();
	mutex_unlock(&patcher.lock);
}
EXPORT_SYMBOL_GPL(patcher_drop);

/**
 * patcher_read_stats() - a snapshot of the counters
 * @stats: filled in
 *
 * Context: may sleep.
 */
void patcher_read_stats(struct patcher_stats *stats)
{
	mutex_lock(&patcher.lock);
	*stats = patcher.stats;
	mutex_unlock(&patcher.lock);
	stats->hits = atomic_long_read(&patcher.hits);
	stats->stale = atomic_long_read(&patcher.stale);
}
EXPORT_SYMBOL_GPL(patcher_read_stats);

/* Every site; none comes or goes meanwhile. */
void patcher_for_each_site(void (*show)(void *data, const struct patcher_table *table,
					const struct patcher_site *site), void *data)
{
	mutex_lock(&patcher.lock);
	sites_for_each(show, data);
	mutex_unlock(&patcher.lock);
}
