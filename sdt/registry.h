/* SPDX-License-Identifier: GPL-2.0-only */
/* The registry: tables of the sites in all modules, and the state of each site. */
#ifndef SDT_REGISTRY_H
#define SDT_REGISTRY_H

#include <linux/atomic.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>

#include <kmarkers/patcher.h>
#include <kmarkers/sdt.h>

struct sdt_call;
struct sdt_set;

/* The current instruction of a site. */
enum sdt_mode {
	SDT_OFF,	/* a nop */
	SDT_TRAPPED,	/* a breakpoint of this module in the first byte */
	SDT_CALLED,	/* a jump to code that calls the handlers */
	SDT_PROBED,	/* the kprobe of a note */
};

/**
 * struct sdt_state - the state of a site
 * @shown: the data that handlers can read about the site: its probe and its address
 * @call: the handler that a hit calls: the only handler of @set, or a handler that calls all
 *	handlers of @set; sdt_no_handlers if @set is NULL
 * @set: set of the handlers attached to the site, protected by the registry's lock; NULL if the
 *	site has no handlers
 * @site: record of the site
 * @mode: enum sdt_mode; stays SDT_TRAPPED until no CPU can hit the breakpoint any more
 * @promoted: true if the site should be a jump instead of a breakpoint while it is enabled
 * @was_promoted: value of @promoted to restore if a change fails
 * @is_stuck: true if the site has no handlers but could not be disabled
 * @change_failed: true if the last attempt to promote or demote the site failed
 * @counted: number of hits that the command "count" has counted; the state of the first copy of a
 *	site counts the hits of all copies
 * @hits: number of hits since the last call of sdt_promote_hot_sites(), only for a site whose
 *	flavour is "breakpoint"; the state of the first copy of a site counts the hits of all
 *	copies; hits on several CPUs at the same time may be counted as one
 * @to_first: index of the first copy of the site in the table, minus the index of this copy
 * @to_next: index of the next copy of the site in the table, minus the index of this copy; after
 *	the last copy follows the first copy
 */
struct sdt_state {
	struct sdt_site shown;
	const struct sdt_call __rcu *call;
	struct sdt_set *set;
	const struct patcher_site *site;
	u8 mode;
	bool promoted;
	bool was_promoted;
	bool is_stuck;
	bool change_failed;
	unsigned int hits;
	atomic_long_t counted;
	int to_first;
	int to_next;
};

static inline struct sdt_state *sdt_get_first_copy(struct sdt_state *state)
{
	return state + state->to_first;
}

static inline const struct sdt_state *sdt_get_next_copy(const struct sdt_state *state)
{
	return state + state->to_next;
}

/* Return the state of the first copy of the site that was hit. */
static inline struct sdt_state *sdt_get_hit_state(const struct sdt_hit *hit)
{
	return container_of((struct sdt_site *)hit->site, struct sdt_state, shown);
}

/**
 * struct sdt_note_record - the record of an SDT note in a module
 * @site: the fields that the records of all sites have; the length of a note's instruction is 0
 * @codes: offset from this field to the encoded locations of the arguments, in bytes
 */
struct sdt_note_record {
	struct patcher_site site;
	s32 codes;
};

struct sdt_note_probe;

/**
 * struct sdt_note - the additional state of a note, a site without an instruction of its own
 * @reason: text that says why the note cannot be armed; NULL if it can be armed
 * @probe: kprobe of the note while it is armed, or NULL
 * @missed: number of hits missed by kprobes of the note that have been unregistered
 */
struct sdt_note {
	const char *reason;
	struct sdt_note_probe *probe;
	unsigned long missed;
};

/**
 * struct sdt_table - one of the two tables of a module: its SDT notes, or all its other sites
 * @node: link in the list of all tables
 * @rcu: used to free the table after a grace period
 * @sites: the sites, sorted by address; registered with the patcher unless they are notes
 * @notes: array with the additional state of each note; NULL if the sites are not notes
 * @targets: array of records, one for each piece of code that the jump of a site leads to
 * @nr_targets: number of targets
 * @number: number of the first note; the note after it in the order of addresses has this number
 *	plus 1, and so on; no two notes of all loaded modules have the same number
 * @ready: true once the module is fully registered, so that trace events may be offered
 * @states: state of each site
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
	struct mutex lock;		/* taken before the patcher's lock */
	struct list_head tables;
};

extern struct sdt_registry sdt_registry;

/* Owner of all SDT sites in the patcher. The patcher compares owners by address, not by text. */
extern const char *const sdt_owner;

static inline struct sdt_note_record *sdt_get_note_record(const struct sdt_table *table,
							  unsigned int i)
{
	return (struct sdt_note_record *)table->sites.sites + i;
}

/* Return the encoded locations of a note's arguments. */
static inline const u8 *sdt_get_note_codes(const struct sdt_note_record *record)
{
	return (const u8 *)&record->codes + record->codes;
}

/* Return site @i of a table. A record of an SDT note is longer than a record of another site. */
static inline struct patcher_site *sdt_get_site(const struct sdt_table *table, unsigned int i)
{
	return table->notes ? &sdt_get_note_record(table, i)->site : &table->sites.sites[i];
}

static inline enum sdt_flavour sdt_get_flavour(const struct patcher_site *site)
{
	return site->size;
}

static inline bool sdt_is_branch(const struct patcher_site *site)
{
	return sdt_get_flavour(site) == SDT_JUMP || sdt_get_flavour(site) == SDT_BREAKPOINT;
}

/*
 * Return the probe of a site. The field key of the site's record refers to the probe or, if the
 * site is a branch, to a struct sdt_origin.
 */
static inline const struct sdt_probe *sdt_get_probe(const struct patcher_site *site)
{
	const void *key = (const void *)patcher_site_key(site);

	return sdt_is_branch(site) ? ((const struct sdt_origin *)key)->probe : key;
}

/* Return the number of arguments that a site passes. */
static inline unsigned int sdt_count_args(const struct patcher_site *site)
{
	return site->flags >> SDT_ARGS_SHIFT;
}

static inline bool sdt_note_is_unarmable(const struct sdt_table *table, unsigned int i)
{
	return table->notes && table->notes[i].reason;
}

/* Return a site's set of handlers, or NULL. The caller holds the registry's lock. */
static inline struct sdt_set *sdt_get_handler_set(const struct sdt_state *state)
{
	return state->set;
}

/*
 * Iterate over all sites: s points to the state of a site, t to the site's table, i is the site's
 * index in t.
 */
#define sdt_for_each_state(s, t, i)					\
	list_for_each_entry(t, &sdt_registry.tables, node)		\
		for ((i) = 0; (i) < (t)->sites.nr && ((s) = &(t)->states[i], 1); (i)++)

#endif /* SDT_REGISTRY_H */
