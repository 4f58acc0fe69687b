/* SPDX-License-Identifier: GPL-2.0-only */
/* The tables of sites of all modules, and the state of each site, which all files here use. */
#ifndef SDT_REGISTRY_H
#define SDT_REGISTRY_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>

#include <kmarkers/patcher.h>
#include <kmarkers/sdt.h>

struct sdt_set;

/* What the instruction of a site is. */
enum sdt_mode {
	SDT_OFF,
	SDT_TRAPPED,
	SDT_CALLED,
};

/**
 * struct sdt_state - what becomes of a site
 * @set: its handlers, or NULL
 * @mode: enum sdt_mode; SDT_TRAPPED as long as a breakpoint of ours may be met
 * @promoted: it shall be a jump while it is on, although it can be armed by a breakpoint
 * @was_promoted: the same before a change that may fail
 * @is_stuck: it could not be switched off
 * @counted: hits while they were counted
 * @hits: how often a site that can be promoted was hit while it was on; CPUs that hit it
 *	at the same time may count as one
 */
struct sdt_state {
	struct sdt_set __rcu *set;
	u8 mode;
	bool promoted;
	bool was_promoted;
	bool is_stuck;
	unsigned int hits;
	atomic_long_t counted;
};

/**
 * struct sdt_target - where the jump of a site leads to
 * @addr: the address
 * @site: the number of the site
 */
struct sdt_target {
	unsigned long addr;
	unsigned int site;
};

/**
 * struct sdt_table - the sites of a module
 * @node: in the list of all
 * @rcu: for the grace period before it is freed
 * @sites: what the patcher knows: sorted by address
 * @states: one for each of them
 * @targets: of the sites that can be jumps, sorted by address
 * @nr_targets: how many
 * @ready: the module has been taken over by everybody, and does not leave
 */
struct sdt_table {
	struct list_head node;
	struct rcu_head rcu;
	struct patcher_table sites;
	struct sdt_state *states;
	struct sdt_target *targets;
	unsigned int nr_targets;
	bool ready;
};

struct sdt_registry {
	struct mutex lock;		/* before the patcher's */
	struct list_head tables;	/* read by hits, too */
};

extern struct sdt_registry sdt_registry;

/* What the patcher calls us: compared by address, so it is there once. */
extern const char *const sdt_owner;

static inline enum sdt_flavour sdt_flavour_of(const struct patcher_site *site)
{
	return site->size;
}

static inline const struct sdt_probe *sdt_probe_of(const struct patcher_site *site)
{
	return (const struct sdt_probe *)patcher_site_key(site);
}

static inline bool sdt_is_branch(const struct patcher_site *site)
{
	return sdt_flavour_of(site) == SDT_JUMP || sdt_flavour_of(site) == SDT_BREAKPOINT;
}

/* The handlers of a site, or NULL.  The registry's lock is held, or preemption is disabled. */
static inline struct sdt_set *sdt_set_of(const struct sdt_state *state)
{
	return rcu_dereference_raw(state->set);
}

/* Every site: s is a pointer to its state, t to its table and i its number. */
#define sdt_for_each_state(s, t, i)					\
	list_for_each_entry(t, &sdt_registry.tables, node)		\
		for ((i) = 0; (i) < (t)->sites.nr && ((s) = &(t)->states[i], 1); (i)++)

#endif /* SDT_REGISTRY_H */
