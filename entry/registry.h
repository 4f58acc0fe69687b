/* SPDX-License-Identifier: GPL-2.0-only */
/* Registry of the recorded functions (built with entry.mk) of all modules. */
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
 * Flags in the data of a site. ENTRY_EXIT is set at compile time. The other flags change under the
 * registry's lock; hits read them without the lock.
 */
enum {
	ENTRY_EXIT = 0x1,	/* an exit of a function, not its entry */
	ENTRY_ON = 0x2,		/* enabled: the instruction is the call, not the nop */
	ENTRY_STUCK = 0x4,	/* the site could not be disabled */
	ENTRY_COUNT = 0x8,	/* action: count the hits */
	ENTRY_EVENT = 0x10,	/* action: record the hits as a trace event */
};

#define ENTRY_ACTIONS	(ENTRY_COUNT | ENTRY_EVENT)

/* Number of kinds of sites: entries and exits. */
#define ENTRY_KINDS	2

/**
 * struct entry_table - the sites of a module
 * @node: link in the list of all tables; hits of sites read the list without the lock
 * @sites: the sites, sorted by address, as registered with the patcher
 * @counts: number of hits of each site; NULL until a rule with the action "count"
 *	matches a site
 * @symbols: for each site, the index of its function symbol in the module's symbol table, or 0
 * @by_name: indices of all sites, sorted by function name
 * @ready: true once the module is fully registered, so that trace events may be offered
 * @changed: true if a site may have to be enabled or disabled: the actions of a site or the users
 *	of a trace event have changed, or a site could not be disabled
 */
struct entry_table {
	struct list_head node;
	struct patcher_table sites;
	atomic_long_t *counts;
	u32 *symbols;
	u32 *by_name;
	bool ready;
	bool changed;
};

/**
 * struct entry_user - a trace buffer or perf, which records the trace event of entries or of exits
 * @node: link in the registry's list for entries or for exits; hits of sites read the list without
 *	the lock
 * @rcu: used to free this struct after a grace period, when no hit uses it
 * @to: the user as kmarkers_events identifies it; passed to write()
 */
struct entry_user {
	struct list_head node;
	struct rcu_head rcu;
	void *to;
};

/**
 * struct entry_registry - the tables of all modules, and the users of the trace events
 * @lock: protects the registry; taken before the patcher's lock
 * @tables: list of struct entry_table
 * @users: two lists of struct entry_user: for the event of entries, and for the event of exits
 * @write: function of kmarkers_events that writes a record for a user; set before the first user is
 *	added
 */
struct entry_registry {
	struct mutex lock;
	struct list_head tables;
	struct list_head users[ENTRY_KINDS];
	void (*write)(void *to, const unsigned long *args);
};

extern struct entry_registry entry_registry;

/* The patcher's owner of all sites in this registry. The patcher compares owners by address. */
extern const char entry_owner[];

static inline void entry_update_flags(struct patcher_compact_site *site, u32 clear, u32 set)
{
	WRITE_ONCE(site->data, (site->data & ~clear) | set);
}

/* Iterate over the tables in which a site may have to be enabled or disabled. */
#define entry_for_each_changed_table(t)					\
	list_for_each_entry(t, &entry_registry.tables, node)		\
		if ((t)->changed)

/* Iterate over all sites: s points to a site, t to the site's table, i is the site's index in t. */
#define entry_for_each_site(s, t, i)					\
	list_for_each_entry(t, &entry_registry.tables, node)		\
		for ((i) = 0; (i) < (t)->sites.nr && ((s) = &(t)->sites.compact[i], 1); (i)++)

#endif /* ENTRY_REGISTRY_H */
