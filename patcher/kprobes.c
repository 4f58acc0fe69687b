// SPDX-License-Identifier: GPL-2.0-only
/*
 * Detect kprobes on the text that a batch changes, and on the text to which the new jumps of the
 * batch lead.
 *
 * When a kprobe is registered, the kernel copies the probed instruction.  When an armed kprobe
 * is hit, the kernel executes the copy, and for an optimised kprobe also copies of the
 * instructions that follow.  When a kprobe is disarmed, the kernel writes the first byte of
 * the copy back.  So no kprobe, armed or not, may be registered on text while the text
 * changes.  The kernel keeps all registered kprobes in one hash table under one mutex; the
 * patcher holds this mutex during a batch.
 *
 * An optimised kprobe is a jump of 5 bytes, which is safe only if no other jump leads behind its
 * first byte.  The kernel searches for such jumps once, when the first kprobe is registered at an
 * address.  The search cannot find a jump that the patcher writes later, over a nop.  While such a
 * jump leads behind the first byte of a kprobe, the kprobe must not be optimised, even if it is
 * disarmed now.  The kernel never optimises a kprobe if another kprobe with a post_handler is at
 * the same address.  The patcher registers such a kprobe, called a guard, before it writes the
 * jump, and unregisters the guard after it has removed the jump.
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/slab.h>

#include <kmarkers/opcodes.h>

#include "../base/lock.h"
#include "../base/symbols.h"
#include "insn.h"
#include "kprobes.h"
#include "pokes.h"
#include "sites.h"

/*
 * Number of buckets of kprobe_table: KPROBE_TABLE_SIZE in kernel/kprobes.c, the same since 2.6.9.
 */
#define BUCKETS	64

static struct {
	struct mutex *mutex;		/* the kernel's kprobe_mutex */
	struct hlist_head *table;	/* the kernel's kprobe_table */
	struct list_head guards;	/* guard kprobes; protected by patcher_lock() */
} kprobes = {
	.guards = LIST_HEAD_INIT(kprobes.guards),
};

/**
 * struct guard_kprobe - keeps kprobes at one address from being optimised
 * @kp: the guard's own kprobe, disabled
 * @node: link in kprobes.guards
 * @needed: true if the jump of a site leads behind the first byte of the instruction that @kp
 *	probes
 */
struct guard_kprobe {
	struct kprobe kp;
	struct list_head node;
	bool needed;
};

/**
 * patcher_kprobes_init() - find the kernel's table of kprobes
 *
 * Context: may sleep; patcher_lock() is held.
 * Return: 0, or -ENOENT if the table is not found or not of the expected size.
 */
int __init patcher_kprobes_init(void)
{
	struct kmarkers_extent extent;

	kprobes.mutex = (struct mutex *)kmarkers_resolve_symbol("kprobe_mutex");
	kprobes.table = (struct hlist_head *)kmarkers_resolve_symbol("kprobe_table");
	if (kprobes.mutex && kprobes.table &&
	    !kmarkers_find_symbol_extent((unsigned long)kprobes.table, &extent) &&
	    extent.start == (unsigned long)kprobes.table &&
	    extent.size >= BUCKETS * sizeof(*kprobes.table) &&
	    extent.size < 2 * BUCKETS * sizeof(*kprobes.table))
		return 0;
	pr_err("kernel not supported: kprobe_mutex or kprobe_table not found, or kprobe_table of unknown size\n");
	return -ENOENT;
}

void patcher_kprobes_lock(void)
{
	mutex_lock(kprobes.mutex);
}

void patcher_kprobes_unlock(void)
{
	mutex_unlock(kprobes.mutex);
}

static bool kprobe_overlaps_poke(unsigned long addr, const struct patcher_poke *pokes,
				 unsigned int nr)
{
	/* Index of the first poke that ends after @addr, the address of a kprobe. */
	unsigned int i = patcher_find_poke_ending_behind(pokes, nr, addr);

	return i < nr && (unsigned long)pokes[i].addr < addr + KMARKERS_JMP_LEN;
}

/**
 * bytes_jump_into_kprobe() - check bytes for a jump behind the first byte of a kprobe
 * @bytes: one instruction, or several adjacent ones
 * @len: number of bytes
 * @has_several_insns: true to try each byte as the start of an instruction, because the bytes may
 *	be several instructions
 * @addr: the address at which the bytes are executed
 * @kprobe_addr: address of the kprobe
 *
 * Return: true if a jump or a call leads to one of the 4 bytes after @kprobe_addr.
 */
static bool bytes_jump_into_kprobe(const u8 *bytes, unsigned int len, bool has_several_insns,
				   unsigned long addr, unsigned long kprobe_addr)
{
	struct patcher_insn insn;
	unsigned int i;

	for (i = 0; i < len && (has_several_insns || !i); i++) {
		if (patcher_insn_decode(bytes + i, len - i, &insn) ||
		    insn.kind == PATCHER_INSN_NOP || insn.kind == PATCHER_INSN_MOV ||
		    insn.kind == PATCHER_INSN_CMP)
			continue;
		if (addr + i + insn.len + insn.imm - kprobe_addr - 1 < KMARKERS_JMP_LEN - 1)
			return true;
	}
	return false;
}

static const struct patcher_poke *
find_jump_into_kprobe(unsigned long kprobe_addr, const struct patcher_poke *pokes,
		      unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (pokes[i].len <= PATCHER_INSN_MAX &&
		    bytes_jump_into_kprobe(pokes[i].new, pokes[i].len,
					   pokes[i].flags & PATCHER_SITE_RUN,
					   (unsigned long)pokes[i].addr, kprobe_addr))
			return &pokes[i];
	return NULL;
}

/*
 * Return true if the kernel may optimise a kprobe, now or later, without another check of the text:
 * the kprobe is an aggregate (struct optimized_kprobe) with a buffer for the instructions that its
 * jump replaces.  A kprobe with an empty list is an aggregate only if it has KPROBE_FLAG_OPTIMIZED:
 * then all probes of the aggregate were unregistered, but its jump is still in memory.
 */
static bool can_kprobe_be_optimised(const struct kprobe *kp)
{
	if (list_empty(&kp->list) && !(kp->flags & KPROBE_FLAG_OPTIMIZED))
		return false;
	return container_of(kp, struct optimized_kprobe, kp)->optinsn.size;
}

/*
 * Return true if the module that contains the guard's address was unloaded.  The kernel has then
 * removed the guard's post_handler, so the guard no longer keeps kprobes from being optimised.
 */
static bool is_guard_in_unloaded_module(const struct guard_kprobe *guard)
{
	return guard->kp.flags & KPROBE_FLAG_GONE;
}

static bool has_guard_kprobe(const struct kprobe *kp)
{
	const struct guard_kprobe *guard;

	list_for_each_entry(guard, &kprobes.guards, node)
		if (guard->kp.addr == kp->addr && !is_guard_in_unloaded_module(guard))
			return true;
	return false;
}

/**
 * struct obstacle - a reason to refuse a batch
 * @kp: the kprobe that conflicts with the batch
 * @from: the poke that jumps behind the kprobe's first byte; NULL if a poke overlaps the kprobe
 */
struct obstacle {
	const struct kprobe *kp;
	const struct patcher_poke *from;
};

static bool is_blocking_kprobe(const struct kprobe *kp, const struct patcher_poke *pokes,
			       unsigned int nr, struct obstacle *obstacle)
{
	/* If the probed module was unloaded, the kernel writes no text for the kprobe any more. */
	if (kp->flags & KPROBE_FLAG_GONE)
		return false;
	obstacle->kp = kp;
	obstacle->from = NULL;
	if (kprobe_overlaps_poke((unsigned long)kp->addr, pokes, nr))
		return true;
	if (can_kprobe_be_optimised(kp) && !has_guard_kprobe(kp))
		obstacle->from = find_jump_into_kprobe((unsigned long)kp->addr, pokes, nr);
	return obstacle->from;
}

static bool find_blocking_kprobe(const struct patcher_poke *pokes, unsigned int nr,
				 struct obstacle *obstacle)
{
	const struct kprobe *kp;
	unsigned int i;

	lockdep_assert_held(kprobes.mutex);
	for (i = 0; i < BUCKETS; i++)
		hlist_for_each_entry(kp, &kprobes.table[i], hlist)
			if (is_blocking_kprobe(kp, pokes, nr, obstacle))
				return true;
	return false;
}

/**
 * patcher_check_for_kprobes() - refuse a batch that overlaps a kprobe or would jump into one
 * @pokes: the batch, checked and sorted by address
 * @nr: number of pokes
 *
 * Context: patcher_lock() and patcher_kprobes_lock() are held.
 * Return: 0 or -EBUSY.
 */
int patcher_check_for_kprobes(const struct patcher_poke *pokes, unsigned int nr)
{
	struct obstacle obstacle;

	patcher_assert_locked();
	if (!find_blocking_kprobe(pokes, nr, &obstacle))
		return 0;
	if (obstacle.from)
		pr_info("instruction change at %pS refused: the new instruction jumps into the kprobe at %pS, which was registered meanwhile: try again\n",
			obstacle.from->addr, obstacle.kp->addr);
	else
		pr_info("instruction change refused: a kprobe is registered at %pS: unregister the kprobe first\n",
			obstacle.kp->addr);
	return -EBUSY;
}

/* For each poke that overlaps the kprobe @kp, set the element of @probed to true. */
static void mark_probed_pokes(const struct kprobe *kp, const struct patcher_poke *pokes,
			      unsigned int nr, bool *probed)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (kprobe_overlaps_poke((unsigned long)kp->addr, &pokes[i], 1))
			probed[i] = true;
}

/**
 * patcher_find_probed_pokes() - find changes that patcher_apply() would refuse because of a kprobe
 * @pokes: the changes, in any order
 * @nr: number of changes
 * @probed: array with one element for each change.  If a kprobe overlaps the change, the
 *	element is set to true; else it is not written
 *
 * Nothing is logged.  A kprobe that is registered after this call is not found.
 *
 * Context: may sleep.
 */
void patcher_find_probed_pokes(const struct patcher_poke *pokes, unsigned int nr, bool *probed)
{
	const struct kprobe *kp;
	unsigned int i;

	/* patcher_lock() excludes patcher_check_core_write(), which registers its own kprobes. */
	patcher_lock();
	/* patcher_apply() removes these guards, too, before it looks for kprobes. */
	patcher_kprobes_remove_unneeded_guards();
	patcher_kprobes_lock();
	for (i = 0; i < BUCKETS; i++)
		hlist_for_each_entry(kp, &kprobes.table[i], hlist)
			if (!(kp->flags & KPROBE_FLAG_GONE))
				mark_probed_pokes(kp, pokes, nr, probed);
	patcher_kprobes_unlock();
	patcher_unlock();
}
EXPORT_SYMBOL_GPL(patcher_find_probed_pokes);

/*
 * The post_handler of a guard, which runs only if the guard is hit before add_guard_kprobe()
 * disables the guard.
 */
static void guard_post_handler(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
}
NOKPROBE_SYMBOL(guard_post_handler);

/*
 * Add a guard kprobe at an address: register it enabled, then disable it.  register_kprobe() may
 * reuse an armed aggregate kprobe that is being removed.  disable_kprobe() disarms that aggregate;
 * registering a disabled guard would leave the aggregate armed.
 */
static int add_guard_kprobe(kprobe_opcode_t *addr)
{
	struct guard_kprobe *guard = kzalloc(sizeof(*guard), GFP_KERNEL);
	int err;

	if (!guard)
		return -ENOMEM;
	guard->kp.addr = addr;
	guard->kp.post_handler = guard_post_handler;
	err = register_kprobe(&guard->kp);
	if (err) {
		kfree(guard);
		return err;
	}
	disable_kprobe(&guard->kp);
	list_add(&guard->node, &kprobes.guards);
	return 0;
}

/*
 * Return the address of a kprobe that needs a guard, because a new jump leads behind the first byte
 * of the kprobe.  If no kprobe needs a guard, return NULL, and set @err to what
 * patcher_check_for_kprobes() returned.
 */
static kprobe_opcode_t *find_kprobe_at_jump_target(const struct patcher_poke *pokes,
						   unsigned int nr, int *err)
{
	struct obstacle obstacle;
	kprobe_opcode_t *addr = NULL;

	patcher_kprobes_lock();
	if (find_blocking_kprobe(pokes, nr, &obstacle) && obstacle.from) {
		addr = obstacle.kp->addr;
		pr_info("kprobe at %pS is not optimised: %pS jumps into it\n",
			addr, obstacle.from->addr);
	}
	*err = addr ? 0 : patcher_check_for_kprobes(pokes, nr);
	patcher_kprobes_unlock();
	return addr;
}

/**
 * patcher_kprobes_add_guards() - register a guard for each kprobe at the target of a new jump
 * @pokes: the batch, sorted by address
 * @nr: number of pokes
 *
 * Context: may sleep; patcher_lock() is held, patcher_kprobes_lock() is not.
 * Return: 0, -EBUSY or -ENOMEM.  Kprobes may be registered before the caller takes
 * patcher_kprobes_lock(), so the caller must check the batch once more with
 * patcher_check_for_kprobes(), when the caller holds that lock.
 */
int patcher_kprobes_add_guards(const struct patcher_poke *pokes, unsigned int nr)
{
	kprobe_opcode_t *addr;
	int err;

	patcher_kprobes_remove_unneeded_guards();
	do {
		addr = find_kprobe_at_jump_target(pokes, nr, &err);
		if (addr)
			err = add_guard_kprobe(addr);
	} while (addr && !err);
	return err && err != -ENOMEM ? -EBUSY : err;
}

static void mark_needed_guards(void *unused, const struct patcher_table *table,
			       const struct patcher_site *site, u8 *bytes)
{
	struct guard_kprobe *guard;

	list_for_each_entry(guard, &kprobes.guards, node)
		/* An int3 of other code hides the instruction of the site: keep the guard. */
		if (bytes[0] == KMARKERS_INT3 ||
		    bytes_jump_into_kprobe(bytes, site->len, site->flags & PATCHER_SITE_RUN,
					   (unsigned long)bytes, (unsigned long)guard->kp.addr))
			guard->needed = true;
}

/*
 * Mark a guard as not needed if no other kprobe is at the guard's address, or if the module that
 * contains the address was unloaded.  Kprobes at one address are in a circular list with their
 * aggregate, so in a list of at most two nodes the guard is the only kprobe.  Such a guard can be
 * removed, because the kernel searches for jumps when the next kprobe is registered at the address.
 */
static void unmark_guards_without_kprobes(void)
{
	struct guard_kprobe *guard;

	patcher_kprobes_lock();
	list_for_each_entry(guard, &kprobes.guards, node)
		if (guard->kp.list.next == guard->kp.list.prev ||
		    is_guard_in_unloaded_module(guard))
			guard->needed = false;
	patcher_kprobes_unlock();
}

/**
 * patcher_kprobes_remove_unneeded_guards() - unregister the guards that are no longer needed
 *
 * A guard is needed while other kprobes are at its address and a site holds a jump to one of the
 * 4 bytes after this address.
 *
 * Context: may sleep; patcher_lock() is held, patcher_kprobes_lock() is not.
 */
void patcher_kprobes_remove_unneeded_guards(void)
{
	struct guard_kprobe *guard, *next;

	patcher_assert_locked();
	if (list_empty(&kprobes.guards))
		return;
	list_for_each_entry(guard, &kprobes.guards, node)
		guard->needed = false;
	patcher_sites_for_each(mark_needed_guards, NULL);
	unmark_guards_without_kprobes();
	list_for_each_entry_safe(guard, next, &kprobes.guards, node) {
		if (guard->needed)
			continue;
		list_del(&guard->node);
		unregister_kprobe(&guard->kp);
		kfree(guard);
	}
}
