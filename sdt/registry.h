/* SPDX-License-Identifier: GPL-2.0-only */
/* The registry: tables of the sites of all modules, and the state of each site. */
#ifndef SDT_REGISTRY_H
#define SDT_REGISTRY_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>

#include <kmarkers/patcher.h>
#include <kmarkers/sdt.h>

struct sdt_set;

/* The current instruction of a site. */
enum sdt_mode {
	SDT_OFF,
	SDT_TRAPPED,
	SDT_CALLED,
	SDT_PROBED,
};

/**
 * struct sdt_state - the state of a site
 * @set: its handlers, or NULL
 * @site: the site; not set for a note
 * @mode: enum sdt_mode; SDT_TRAPPED as long as a breakpoint of ours may be met
 * @promoted: it shall be a jump while it is on, although it can be armed by a breakpoint
 * @was_promoted: the same before a change that may fail
 * @is_stuck: it could not be switched off
 * @is_held: it was hot or no more, and could not be promoted or demoted
 * @counted: hits while they were counted; of copies of a site, the first has them
 * @hits: how often a site that can be promoted was hit while it was on, as @counted; CPUs
 *	that hit it at the same time may count as one
 * @to_first: how far it is to the state of the first copy of the site, in states
 * @to_next: the same to that of the next copy; the first one is behind the last
 */
struct sdt_state {
	struct sdt_set __rcu *set;
	const struct patcher_site *site;
	u8 mode;
	bool promoted;
	bool was_promoted;
	bool is_stuck;
	bool is_held;
	unsigned int hits;
	atomic_long_t counted;
	int to_first;
	int to_next;
};

static inline struct sdt_state *sdt_first_copy(struct sdt_state *state)
{
	return state + state->to_first;
}

static inline const struct sdt_state *sdt_next_copy(const struct sdt_state *state)
{
	return state + state->to_next;
}

/**
 * struct sdt_note_record - a site that is a note, as modules have it
 * @site: as that of other sites, with no length
 * @codes: where its arguments are, relative to this field
 */
struct sdt_note_record {
	struct patcher_site site;
	s32 codes;
};

struct sdt_note_probe;

/**
 * struct sdt_note - the additional state of a note
 * @doubt: why it cannot be armed and has no definition, or NULL
 * @probe: its kprobe while it is on, or NULL
 * @missed: hits that earlier kprobes missed
 */
struct sdt_note {
	const char *doubt;
	struct sdt_note_probe *probe;
	unsigned long missed;
};

/**
 * struct sdt_table - the sites of a module, either those that are notes or the others
 * @node: in the list of all
 * @rcu: for the grace period before it is freed
 * @sites: what the patcher knows, if they are no notes: sorted by address
 * @notes: one for each of them, if they are notes, or NULL
 * @targets: what the jumps of sites lead to, as the module has them
 * @nr_targets: how many
 * @number: of its first note among the notes of all modules; stays as it is
 * @ready: the module has been taken over by everybody, and does not leave
 * @states: one for each site
 */
struct sdt_table {
	struct list_head node;
	struct rcu_head rcu;
	struct patcher_table sites;
	struct sdt_note *notes;
	struct sdt_target *targets;
	unsigned int nr_targets;
	unsigned int number;
	bool ready;
	struct sdt_state states[];
};

struct sdt_registry {
	struct mutex lock;		/* before the patcher's */
	struct list_head tables;
};

extern struct sdt_registry sdt_registry;

/* Our owner name in the patcher, compared by address, so it is defined once. */
extern const char *const sdt_owner;

static inline struct sdt_note_record *sdt_note_record(const struct sdt_table *table, unsigned int i)
{
	return (struct sdt_note_record *)table->sites.sites + i;
}

/* The locations of the arguments of a note. */
static inline const u8 *sdt_note_codes(const struct sdt_note_record *record)
{
	return (const u8 *)&record->codes + record->codes;
}

/* The site with this index; records of notes are longer. */
static inline struct patcher_site *sdt_site(const struct sdt_table *table, unsigned int i)
{
	return table->notes ? &sdt_note_record(table, i)->site : &table->sites.sites[i];
}

static inline enum sdt_flavour sdt_flavour_of(const struct patcher_site *site)
{
	return site->size;
}

static inline bool sdt_is_branch(const struct patcher_site *site)
{
	return sdt_flavour_of(site) == SDT_JUMP || sdt_flavour_of(site) == SDT_BREAKPOINT;
}

/* A site with a target names its origin, others their probe. */
static inline const struct sdt_probe *sdt_probe_of(const struct patcher_site *site)
{
	const void *key = (const void *)patcher_site_key(site);

	return sdt_is_branch(site) ? ((const struct sdt_origin *)key)->probe : key;
}

/* The number of arguments that a site passes; further ones of its probe are 0. */
static inline unsigned int sdt_args_of(const struct patcher_site *site)
{
	return site->flags >> SDT_ARGS_SHIFT;
}

static inline bool sdt_note_is_unarmable(const struct sdt_table *table, unsigned int i)
{
	return table->notes && table->notes[i].doubt;
}

/* The handlers of a site, or NULL.  The registry's lock is held, or preemption is disabled. */
static inline struct sdt_set *sdt_set_of(const struct sdt_state *state)
{
	return rcu_dereference_raw(state->set);
}

/* Iterate over all sites: s points to the state, t to the table, i is the index. */
#define sdt_for_each_state(s, t, i)					\
	list_for_each_entry(t, &sdt_registry.tables, node)		\
		for ((i) = 0; (i) < (t)->sites.nr && ((s) = &(t)->states[i], 1); (i)++)

#endif /* SDT_REGISTRY_H */
