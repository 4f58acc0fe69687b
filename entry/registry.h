/* SPDX-License-Identifier: GPL-2.0-only */
/* The entries and exits of functions of all clients, which all files here use. */
#ifndef ENTRY_REGISTRY_H
#define ENTRY_REGISTRY_H

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>

#include <kmarkers/patcher.h>

/* Bytes of a nop that entry.mk has the compiler write, and of the call that replaces it. */
#define ENTRY_INSN_LEN	5

/*
 * What the data of a site says.  The client's record says ENTRY_EXIT; the rest changes
 * under the registry's lock, and hits read it without.
 */
enum {
	ENTRY_EXIT = 0x1,	/* a way out of a function, not the way in */
	ENTRY_ON = 0x2,		/* the instruction is the call */
	ENTRY_STUCK = 0x4,	/* it could not be switched off */
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
 * @ready: everybody has taken over the module, so there are events of it
 */
struct entry_table {
	struct list_head node;
	struct patcher_table sites;
	atomic_long_t *counts;
	bool ready;
};

/**
 * struct entry_user - who gets the records of an event
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

/* What the patcher calls us: compared by address. */
extern const char entry_owner[];

/* A site is on as long as there is anything to do with its hits. */
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

/* Every site: s is a pointer to it, t to its table and i its number. */
#define entry_for_each_site(s, t, i)					\
	list_for_each_entry(t, &entry_registry.tables, node)		\
		for ((i) = 0; (i) < (t)->sites.nr && ((s) = &(t)->sites.compact[i], 1); (i)++)

#endif /* ENTRY_REGISTRY_H */
