/* SPDX-License-Identifier: GPL-2.0-only */
/* Registry of the recorded functions of all clients. */
#ifndef ENTRY_REGISTRY_H
#define ENTRY_REGISTRY_H

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>

#include <kmarkers/patcher.h>

/* Length of the nop that entry.mk makes the compiler emit, and of the call that replaces it. */
#define ENTRY_INSN_LEN	5

/*
 * Flags in the data of a site. The client's record says ENTRY_EXIT; the rest changes under the
 * registry's lock, and hits read it without.
 */
enum {
	ENTRY_EXIT = 0x1,	/* an exit of a function, not its entry */
	ENTRY_ON = 0x2,		/* enabled: the instruction is the call */
	ENTRY_STUCK = 0x4,	/* could not be disabled */
	ENTRY_COUNT = 0x8,	/* hits are counted: an action */
	ENTRY_EVENT = 0x10,	/* hits are records of a trace event: an action */
};

#define ENTRY_ACTIONS	(ENTRY_COUNT | ENTRY_EVENT)

/* Entries and exits. */
#define ENTRY_KINDS	2

/**
 * struct entry_table - the sites of a module
 * @node: in the list of all, which hits read
 * @sites: what the patcher knows: the sites, sorted by address
 * @counts: of hits, one for each site; NULL until any has been counted
 * @ready: the module is fully registered, so its trace events may be offered
 */
struct entry_table {
	struct list_head node;
	struct patcher_table sites;
	atomic_long_t *counts;
	bool ready;
};

/**
 * struct entry_user - a trace event file that receives records
 * @node: in the registry's list of those of a kind, which hits read
 * @rcu: to be freed when no hit can see it
 * @to: what is passed to write()
 */
struct entry_user {
	struct list_head node;
	struct rcu_head rcu;
	void *to;
};

/**
 * struct entry_registry - all tables
 * @lock: before the patcher's
 * @tables: struct entry_table
 * @users: who gets the records of the event of each kind, entries first: struct entry_user
 * @write: write a record to a user; set before there is any
 */
struct entry_registry {
	struct mutex lock;
	struct list_head tables;
	struct list_head users[ENTRY_KINDS];
	void (*write)(void *to, const unsigned long *args);
};

extern struct entry_registry entry_registry;

/* Our owner name in the patcher, which compares it by address. */
extern const char entry_owner[];

/* A site is enabled while any action applies to its hits. */
static inline bool entry_is_wanted(const struct patcher_compact_site *site)
{
	if (site->data & ENTRY_COUNT)
		return true;
	return site->data & ENTRY_EVENT &&
	       !list_empty(&entry_registry.users[!!(site->data & ENTRY_EXIT)]);
}

static inline void entry_set(struct patcher_compact_site *site, u32 clear, u32 set)
{
	WRITE_ONCE(site->data, (site->data & ~clear) | set);
}

/* Iterate over all sites: s points to the site, t to its table, i is its index. */
#define entry_for_each_site(s, t, i)					\
	list_for_each_entry(t, &entry_registry.tables, node)		\
		for ((i) = 0; (i) < (t)->sites.nr && ((s) = &(t)->sites.compact[i], 1); (i)++)

#endif /* ENTRY_REGISTRY_H */
