// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kprobes on text that is going to be changed.
 *
 * Whoever registers a kprobe copies the instruction: armed, it runs the copy,
 * optimised, it runs copies of what follows as well, and disarmed, it writes the
 * copy's first byte back.  So there must be none while text changes, be it armed
 * or not.  All that are registered hang in one hash table of the kernel under
 * one mutex, which is held for as long as the batch takes.
 */
#include <linux/errno.h>
#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/printk.h>

#include "core.h"

/* An optimised kprobe covers as many bytes. */
#define REACH	5

/* KPROBE_TABLE_SIZE in kernel/kprobes.c, the same since 2.6.9. */
#define BUCKETS	64

static struct {
	struct mutex *mutex;		/* the kernel's kprobe_mutex */
	struct hlist_head *table;	/* its kprobe_table */
} kprobes;

/**
 * kprobes_init() - find the kernel's table of kprobes
 *
 * Return: 0, or -ENOENT if it is not what we know.
 */
int __init kprobes_init(void)
{
	struct extent extent;

	kprobes.mutex = (struct mutex *)core_resolve("kprobe_mutex");
	kprobes.table = (struct hlist_head *)core_resolve("kprobe_table");
	if (kprobes.mutex && kprobes.table &&
	    !core_find_extent((unsigned long)kprobes.table, &extent) &&
	    extent.start == (unsigned long)kprobes.table &&
	    extent.size >= BUCKETS * sizeof(*kprobes.table) &&
	    extent.size < 2 * BUCKETS * sizeof(*kprobes.table))
		return 0;
	pr_err("patcher: this kernel's table of kprobes is not the one we know\n");
	return -ENOENT;
}

/* No kprobe is registered, armed or optimised until kprobes_unlock(). */
void kprobes_lock(void)
{
	mutex_lock(kprobes.mutex);
}

void kprobes_unlock(void)
{
	mutex_unlock(kprobes.mutex);
}

static bool overlaps(unsigned long addr, const struct patcher_poke *pokes, unsigned int nr)
{
	unsigned int low = 0, high = nr;

	/* The first that ends behind the probe's address. */
	while (low < high) {
		unsigned int mid = low + (high - low) / 2;

		if ((unsigned long)pokes[mid].addr + pokes[mid].len <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low < nr && (unsigned long)pokes[low].addr < addr + REACH;
}

/**
 * kprobes_vet() - is there a kprobe on what is going to be changed?
 * @pokes: the batch, sorted by address
 * @nr: how many
 *
 * Context: kprobes_lock() is held.
 * Return: 0 or -EBUSY.
 */
int kprobes_vet(const struct patcher_poke *pokes, unsigned int nr)
{
	const struct kprobe *kp;
	unsigned int i;

	for (i = 0; i < BUCKETS; i++) {
		hlist_for_each_entry(kp, &kprobes.table[i], hlist) {
			/* Its module is gone: it writes no text any more. */
			if (kp->flags & KPROBE_FLAG_GONE)
				continue;
			if (!overlaps((unsigned long)kp->addr, pokes, nr))
				continue;
			pr_info("patcher: change refused: a kprobe at %pS\n", kp->addr);
			return -EBUSY;
		}
	}
	return 0;
}
