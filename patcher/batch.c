// SPDX-License-Identifier: GPL-2.0-only
/* Check all replacements of a batch, then write all of them to text. */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/timekeeping.h>

#include <kmarkers/opcodes.h>

#include "../base/lock.h"
#include "insn.h"
#include "protocol.h"
#include "sites.h"
#include "stats.h"
#include "text.h"

static int compare_pokes(const void *a, const void *b)
{
	const struct patcher_poke *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static bool are_pokes_sorted(const struct patcher_poke *pokes, unsigned int nr)
{
	unsigned int i;

	for (i = 1; i < nr; i++)
		if (pokes[i - 1].addr > pokes[i].addr)
			return false;
	return true;
}

/*
 * Sort pokes by address.  If the pokes are already sorted, as in most calls, return false without
 * calling sort(): its heap sort takes as long for sorted input as for unsorted input.
 */
static bool sort_pokes(struct patcher_poke *pokes, unsigned int nr)
{
	if (are_pokes_sorted(pokes, nr))
		return false;
	sort(pokes, nr, sizeof(*pokes), compare_pokes, NULL);
	return true;
}

/* Type of the two functions that check a poke: check_new_insn() and check_trap_poke(). */
typedef int check_poke_function(const struct patcher_table *table, const struct patcher_poke *poke);

static __always_inline int check_new_insn(const struct patcher_table *table,
					  const struct patcher_poke *poke)
{
	struct patcher_insn insn;

	if (patcher_is_common_insn(poke->new, poke->len))
		return 0;
	return patcher_choose_emulated_insn(poke, &insn);
}

static __always_inline int check_poke(const char *owner, struct patcher_poke *poke,
				      struct patcher_cursor *cursor, bool *in_core,
				      check_poke_function *check)
{
	const struct patcher_site *site;

	site = patcher_sites_find_next(cursor, (unsigned long)poke->addr);
	if (!site)
		return -ENOENT;
	if (cursor->table->owner != owner)
		return -EPERM;
	if (site->len != poke->len || site->flags & PATCHER_SITE_PREFIX)
		return -EINVAL;
	poke->flags = site->flags;
	*in_core |= cursor->table->core;
	return check(cursor->table, poke);
}

/*
 * Return the number of common pokes at the start of @pokes.  A poke is common if
 *
 * - it replaces the next site of @table, from index @first on,
 * - neither the poke nor the site has flags, and
 * - patcher_is_common_insn() accepts the new instruction.
 *
 * @compact, which is a constant in each caller, is true if the table is compact.
 */
static __always_inline unsigned int count_common_pokes(const struct patcher_table *table,
						       unsigned int first,
						       const struct patcher_poke *pokes,
						       unsigned int nr, bool compact)
{
	/*
	 * A table has either an array of sites or an array of compact sites: do not add @first to
	 * the pointer that is NULL.
	 */
	const struct patcher_compact_site *compact_sites = compact ? table->compact + first : NULL;
	const struct patcher_site *sites = compact ? NULL : table->sites + first;
	const struct patcher_site *site = &table->alike;
	unsigned long addr;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		site = compact ? site : &sites[i];
		addr = compact ? patcher_compact_addr(&compact_sites[i]) : patcher_site_addr(site);
		if (site->flags || site->len != PATCHER_COMMON_LEN || pokes[i].flags ||
		    (unsigned long)pokes[i].addr != addr ||
		    !patcher_is_common_insn(pokes[i].new, pokes[i].len))
			break;
	}
	return i;
}

/*
 * Skip the common pokes at the start of @pokes (see count_common_pokes()), which check_poke() need
 * not check.  Move @cursor behind the sites of the skipped pokes, and return the number of these
 * pokes.  Nearly all pokes are common.  The caller has checked the owner of cursor->table.
 */
static unsigned int skip_common_pokes(struct patcher_cursor *cursor,
				      const struct patcher_poke *pokes, unsigned int nr)
{
	const struct patcher_table *table = cursor->table;
	unsigned int first = cursor->next;

	if (nr > table->nr - first)
		nr = table->nr - first;
	nr = table->compact ? count_common_pokes(table, first, pokes, nr, true) :
			      count_common_pokes(table, first, pokes, nr, false);
	cursor->next += nr;
	return nr;
}

/*
 * Run all checks of a batch that do not read live text.  The function is inlined into each caller,
 * where @check is a constant, so the compiler makes a direct call of @check.
 */
static __always_inline int check_pokes(const char *owner, struct patcher_poke *pokes,
				       unsigned int nr, bool *in_core, check_poke_function *check)
{
	struct patcher_cursor cursor = { NULL };
	unsigned int i = 0;
	int err = 0;

	while (i < nr && !err) {
		if (i && pokes[i - 1].addr + pokes[i - 1].len > pokes[i].addr)
			return -EINVAL;
		err = check_poke(owner, &pokes[i++], &cursor, in_core, check);
		if (!err && check == check_new_insn)
			i += skip_common_pokes(&cursor, &pokes[i], nr - i);
	}
	return err;
}

/* Type of the functions that check all pokes of a batch. */
typedef int check_batch_function(const char *owner, struct patcher_poke *pokes, unsigned int nr,
				 bool *in_core);

static int check_all_new_insns(const char *owner, struct patcher_poke *pokes, unsigned int nr,
			       bool *in_core)
{
	return check_pokes(owner, pokes, nr, in_core, check_new_insn);
}

/*
 * Call @check for a batch.  If @check fails and the pokes are not sorted, sort the pokes and call
 * @check again.
 */
static int sort_and_check_pokes(const char *owner, struct patcher_poke *pokes, unsigned int nr,
				bool *in_core, check_batch_function *check)
{
	int err = check(owner, pokes, nr, in_core);

	return err && sort_pokes(pokes, nr) ? check(owner, pokes, nr, in_core) : err;
}

/*
 * Return true if two instructions are equal.  Nearly all instructions have 5 bytes; a comparison of
 * 5 bytes calls no function, because the compiler replaces a memcmp() of 4 bytes by one
 * instruction.
 */
static __always_inline bool are_bytes_equal(const u8 *a, const u8 *b, unsigned int len)
{
	return len == PATCHER_COMMON_LEN ? !memcmp(a, b, 4) && a[4] == b[4] : !memcmp(a, b, len);
}

/*
 * Compare the bytes of each site with the bytes that the caller expects, first in the executable
 * mapping, then in its writable alias.  The second comparison detects an alias of a wrong page
 * before the first store.
 */
static int compare_old_bytes(const struct patcher_poke *pokes, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (!are_bytes_equal(pokes[i].addr, pokes[i].old, pokes[i].len) ||
		    !are_bytes_equal(pokes[i].alias, pokes[i].old, pokes[i].len))
			return -EILSEQ;
	return 0;
}

static int map_and_write_pokes(struct patcher_poke *pokes, unsigned int nr, unsigned int chunk,
			       patcher_write_function *write)
{
	u64 start = ktime_get_ns(), mapped, checked, applied;
	struct patcher_stats *stats = patcher_get_stats_locked();
	struct patcher_text_alias alias;
	int err;

	err = patcher_text_map(&alias, pokes, nr);
	if (err)
		return err;
	mapped = ktime_get_ns();
	err = compare_old_bytes(pokes, nr);
	checked = ktime_get_ns();
	if (!err)
		write(pokes, nr, chunk);
	applied = ktime_get_ns();
	patcher_text_unmap(&alias);
	stats->map_ns += mapped - start + (ktime_get_ns() - applied);
	stats->check_ns += checked - mapped;
	stats->apply_ns += applied - checked;
	return err;
}

/* Check a batch with @check.  Then write the batch with @write, @chunk sites at a time. */
static int apply_batch(const char *owner, struct patcher_poke *pokes, unsigned int nr,
		       unsigned int chunk, check_batch_function *check,
		       patcher_write_function *write)
{
	u64 start;
	bool in_core = false;
	int err;

	patcher_lock();
	start = ktime_get_ns();
	err = nr ? sort_and_check_pokes(owner, pokes, nr, &in_core, check) : -EINVAL;
	if (!chunk)
		err = -EINVAL;
	/* If the cause of -EINVAL is the int3 of a kprobe, log the kprobe and return -EBUSY. */
	if (!err || err == -EINVAL)
		err = patcher_text_check_kprobes(pokes, nr, false) ?: err;
	if (!err && in_core)
		err = patcher_text_check_core(pokes, nr);
	patcher_get_stats_locked()->check_ns += ktime_get_ns() - start;
	if (!err) {
		patcher_text_lock(in_core);
		patcher_record_longest_ns(&patcher_get_stats_locked()->longest_wait_ns, start);
		err = patcher_text_check_kprobes(pokes, nr, true) ?:
		      map_and_write_pokes(pokes, nr, chunk, write);
		patcher_text_unlock(in_core);
	}
	patcher_text_remove_unneeded_guards();
	patcher_count_batch(err, nr, ktime_get_ns() - start);
	patcher_unlock();
	return err;
}

/**
 * patcher_apply_chunked() - replace instructions, a bounded number at a time
 * @owner: the owner in the tables of all sites
 * @pokes: the replacements; sorted in place
 * @nr: number of replacements, at least 1
 * @chunk: maximum number of sites that hold an int3 at the same time, at least 1
 *
 * The batch is checked as a whole.  Then its sites are written in the order of their addresses,
 * @chunk sites at a time, with three rounds of synchronisation for each chunk.  A site holds an
 * int3 only while its chunk is written.
 *
 * Context: may sleep.
 * Return: as patcher_apply().
 */
int patcher_apply_chunked(const char *owner, struct patcher_poke *pokes, unsigned int nr,
			  unsigned int chunk)
{
	return apply_batch(owner, pokes, nr, chunk, check_all_new_insns, patcher_write_chunks);
}
EXPORT_SYMBOL_GPL(patcher_apply_chunked);

/**
 * patcher_apply() - replace instructions on the running system
 * @owner: the owner in the tables of all sites
 * @pokes: the replacements; sorted in place
 * @nr: number of replacements, at least 1
 *
 * Either all replacements are made or none.  @pokes may be freed on return.
 *
 * Context: may sleep.
 * Return: 0; or, with nothing changed, -EINVAL for a wrong length, an overlap or a
 * new instruction that cannot be emulated; -ENOENT if no registered site begins at an address;
 * -EPERM if a site belongs to another owner; -EBUSY if a kprobe, armed or not, is registered on a
 * site or up to 4 bytes before the site, or if a new jump leads into a kprobe that was registered
 * while the batch was being checked; -EILSEQ if a site does not hold the old bytes of its poke;
 * -ENOMEM; for core text also the errors of patcher_check_core_write().
 */
int patcher_apply(const char *owner, struct patcher_poke *pokes, unsigned int nr)
{
	return patcher_apply_chunked(owner, pokes, nr, nr ?: 1);
}
EXPORT_SYMBOL_GPL(patcher_apply);

/* Return true if all pokes are in @table, and no CPU has run code of the table's module yet. */
static bool are_pokes_unexecuted(const struct patcher_table *table,
				 const struct patcher_poke *pokes, unsigned int nr)
{
	unsigned int i;

	if (!patcher_is_text_unexecuted(table->module))
		return false;
	for (i = 0; i < nr; i++)
		if ((unsigned long)pokes[i].addr < table->start ||
		    (unsigned long)pokes[i].addr >= table->end)
			return false;
	return true;
}

/**
 * patcher_apply_at_load() - replace instructions of a module that is being loaded
 * @table: the registered table of the module's sites
 * @pokes: replacements of sites of @table; sorted in place
 * @nr: number of replacements, at least 1
 *
 * None of the module's code has run yet, so the bytes are stored without breakpoints and
 * with one round of synchronisation.  In user space, code runs before the tables are registered,
 * so this function does the same as patcher_apply().
 *
 * Context: may sleep; module notifier, MODULE_STATE_COMING.
 * Return: as patcher_apply().
 */
int patcher_apply_at_load(const struct patcher_table *table, struct patcher_poke *pokes,
			  unsigned int nr)
{
	return apply_batch(table->owner, pokes, nr, nr, check_all_new_insns,
			   are_pokes_unexecuted(table, pokes, nr) ? patcher_write_unexecuted :
							     patcher_write_chunks);
}
EXPORT_SYMBOL_GPL(patcher_apply_at_load);

/*
 * Check a poke that sets or removes a permanent breakpoint.  The poke must change only the first
 * byte, from or to int3.  The bytes without int3, old or new, must be exactly one instruction.
 */
static __always_inline int check_trap_poke(const struct patcher_table *table,
					   const struct patcher_poke *poke)
{
	bool was_set = poke->old[0] == KMARKERS_INT3, is_set = poke->new[0] == KMARKERS_INT3;

	if (table->core || !table->trap)
		return -EPERM;
	if (poke->flags || was_set == is_set || memcmp(poke->old + 1, poke->new + 1, poke->len - 1))
		return -EINVAL;
	return patcher_is_single_insn(is_set ? poke->old : poke->new, poke->len) ? 0 : -EINVAL;
}

static int check_all_trap_pokes(const char *owner, struct patcher_poke *pokes, unsigned int nr,
				bool *in_core)
{
	return check_pokes(owner, pokes, nr, in_core, check_trap_poke);
}

/**
 * patcher_store_traps() - set or remove permanent breakpoints
 * @owner: the owner in the tables of all sites; each table must have a trap function
 * @pokes: the changes, each of the first byte only, from or to int3; sorted in place
 * @nr: number of changes, at least 1
 *
 * The cost is one store per site, and one round of synchronisation for the batch.
 * A permanent breakpoint can also be replaced with patcher_apply(), by any instruction that
 * the patcher can emulate.
 *
 * Context: may sleep.
 * Return: as patcher_apply(); -EPERM also for a site in core text, and for a site whose table has
 * no trap function.
 */
int patcher_store_traps(const char *owner, struct patcher_poke *pokes, unsigned int nr)
{
	return apply_batch(owner, pokes, nr, nr, check_all_trap_pokes, patcher_write_traps);
}
EXPORT_SYMBOL_GPL(patcher_store_traps);

/*
 * Sort pokes by address.  Return an array that holds, for each sorted poke, its index before the
 * sort; NULL if there is no memory.
 */
static unsigned int *sort_pokes_and_return_order(struct patcher_poke *pokes, unsigned int nr)
{
	unsigned int *order = kvcalloc(nr, sizeof(*order), GFP_KERNEL);
	unsigned int i;

	if (!order)
		return NULL;
	/* Keep the index in the field alias, which is unused until the text is mapped. */
	for (i = 0; i < nr; i++)
		pokes[i].alias = (u8 *)(unsigned long)i;
	sort(pokes, nr, sizeof(*pokes), compare_pokes, NULL);
	for (i = 0; i < nr; i++)
		order[i] = (unsigned long)pokes[i].alias;
	return order;
}

/**
 * struct split_batch - arguments of patcher_apply_most(), for the functions that divide its batch
 * @apply: function that makes a number of replacements as one batch
 * @owner: the owner in the tables of all sites
 * @pokes: the replacements
 * @order: for each element of @pokes, the index of the same replacement in @stuck; NULL if @pokes
 *	and @stuck have the same order
 * @stuck: set to true for each replacement that cannot be made
 */
struct split_batch {
	patcher_apply_function *apply;
	const char *owner;
	struct patcher_poke *pokes;
	const unsigned int *order;
	bool *stuck;
};

static int apply_poke_range(const struct split_batch *batch, unsigned int first, unsigned int nr);

/*
 * Apply each half of a range of pokes as a separate batch, because the whole range failed with
 * @err.  A single poke is not divided: mark the poke as stuck.  Return the first error.
 */
static int apply_poke_range_by_halves(const struct split_batch *batch, unsigned int first,
				      unsigned int nr, int err)
{
	unsigned int half = nr / 2;
	int other;

	if (nr == 1) {
		batch->stuck[batch->order ? batch->order[first] : first] = true;
		return err == -ENOMEM ? -EBUSY : err;
	}
	err = apply_poke_range(batch, first, half);
	other = apply_poke_range(batch, first + half, nr - half);
	return err ?: other;
}

static int apply_poke_range(const struct split_batch *batch, unsigned int first, unsigned int nr)
{
	int err = batch->apply(batch->owner, batch->pokes + first, nr);

	return err ? apply_poke_range_by_halves(batch, first, nr, err) : 0;
}

/**
 * patcher_apply_most() - make as many replacements as possible
 * @apply: patcher_apply() or patcher_store_traps()
 * @owner: the owner in the tables of all sites
 * @pokes: the replacements; sorted in place
 * @nr: number of replacements, at least 1
 * @stuck: array of @nr elements, all false, in the order of the unsorted @pokes.  The element of
 *	each replacement that was not made is set to true
 *
 * The replacements are first tried as one batch.  If a batch fails, each half of the batch is tried
 * as a batch of its own.  So a single bad site costs few further batches, and all other sites are
 * changed.
 *
 * Context: may sleep.
 * Return: 0 if all replacements were made; -ENOMEM if there was no memory for the first batch, with
 * nothing changed and @stuck not written; else the error of the first replacement that was not
 * made, where -EBUSY may also stand for a lack of memory.
 */
int patcher_apply_most(patcher_apply_function *apply, const char *owner, struct patcher_poke *pokes,
		       unsigned int nr, bool *stuck)
{
	struct split_batch batch = { apply, owner, pokes, NULL, stuck };
	unsigned int *order = NULL;
	int err;

	if (!are_pokes_sorted(pokes, nr)) {
		order = sort_pokes_and_return_order(pokes, nr);
		if (!order)
			return -ENOMEM;
	}
	batch.order = order;
	err = nr ? apply(owner, pokes, nr) : -EINVAL;
	if (err && err != -ENOMEM && nr)
		err = apply_poke_range_by_halves(&batch, 0, nr, err);
	kvfree(order);
	return err;
}
EXPORT_SYMBOL_GPL(patcher_apply_most);

static int check_prefix_pokes(const char *owner, const struct patcher_poke *pokes, unsigned int nr)
{
	const struct patcher_table *table;
	const struct patcher_site *site;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		site = patcher_sites_find((unsigned long)pokes[i].addr, &table);
		if (!site)
			return -ENOENT;
		if (table->owner != owner)
			return -EPERM;
		if (!(site->flags & PATCHER_SITE_PREFIX) || pokes[i].len != 1 ||
		    !patcher_is_lock_or_ds_prefix(pokes[i].new[0]) ||
		    (i && pokes[i - 1].addr == pokes[i].addr))
			return -EINVAL;
	}
	return 0;
}

/* Return true if a batch stores a DS prefix, which is safe only while a single CPU is online. */
static bool pokes_remove_lock_prefix(const struct patcher_poke *pokes, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (pokes[i].new[0] == PATCHER_PREFIX_DS)
			return true;
	return false;
}

/**
 * patcher_store_prefixes() - exchange LOCK and DS prefixes
 * @owner: the owner in the tables of all sites
 * @pokes: the replacements, of one byte each, at sites with PATCHER_SITE_PREFIX
 * @nr: number of replacements, at least 1
 *
 * An instruction has the same length and boundaries with either prefix, so one store and
 * one round of synchronisation are enough.  Without LOCK an instruction is atomic only
 * while a single CPU is online: with more CPUs, a batch that stores DS is refused.  The
 * patcher has no CPU hotplug callback, so the caller must store LOCK before another CPU
 * comes online.  A hotplug callback must not call this function, because CPU hotplug holds
 * the lock that cpus_read_lock() takes here.
 *
 * Context: may sleep.
 * Return: 0; or, with nothing changed, -EBUSY if more than one CPU is online and a new
 * byte is DS, or an error of patcher_apply().
 */
int patcher_store_prefixes(const char *owner, struct patcher_poke *pokes, unsigned int nr)
{
	u64 start;
	int err;

	patcher_lock();
	start = ktime_get_ns();
	sort_pokes(pokes, nr);
	err = nr ? check_prefix_pokes(owner, pokes, nr) : -EINVAL;
	if (!err) {
		/*
		 * Remove guards that are still registered although their kprobes were unregistered:
		 * because of such a guard, the batch would be refused.
		 */
		patcher_text_remove_unneeded_guards();
		patcher_text_lock(false);
		patcher_record_longest_ns(&patcher_get_stats_locked()->longest_wait_ns, start);
		err = pokes_remove_lock_prefix(pokes, nr) && !patcher_is_one_cpu_online() ? -EBUSY :
		      patcher_text_check_kprobes(pokes, nr, true);
		if (!err)
			err = map_and_write_pokes(pokes, nr, nr, patcher_write_prefixes);
		patcher_text_unlock(false);
	}
	patcher_count_batch(err, nr, ktime_get_ns() - start);
	patcher_unlock();
	return err;
}
EXPORT_SYMBOL_GPL(patcher_store_prefixes);
