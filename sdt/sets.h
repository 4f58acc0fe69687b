/* SPDX-License-Identifier: GPL-2.0-only */
/* Sets of handlers, shared by sites. */
#ifndef SDT_SETS_H
#define SDT_SETS_H

#include <linux/list.h>
#include <linux/rcupdate.h>

#include <kmarkers/sdt.h>

struct sdt_state;

/**
 * struct sdt_call - a handler in a set
 * @handler: the handler; one that does nothing when it has been taken out
 * @private: its private data
 * @of: what it was attached by
 */
struct sdt_call {
	sdt_handler *handler;
	void *private;
	const void *of;
};

/**
 * struct sdt_set - the handlers of sites that have the same ones
 * @rcu: for the grace period before it is freed
 * @node: in the list of all
 * @users: how many sites have it
 * @live: how many of its handlers have not been taken out
 * @nr: how many handlers there are
 * @grown: while handlers are attached, this set and the new one; else NULL
 * @from: while handlers are attached, the set that this one came from; else NULL
 * @call: the handlers
 *
 * Hits read @nr and @call.
 */
struct sdt_set {
	struct rcu_head rcu;
	struct list_head node;
	unsigned int users;
	unsigned int live;
	unsigned int nr;
	struct sdt_set *grown;
	struct sdt_set *from;
	struct sdt_call call[];
};

/* The number of handlers of a site. */
static inline unsigned int sdt_live(const struct sdt_set *set)
{
	return set ? set->live : 0;
}

int sdt_sets_grow(struct sdt_state *state, const struct sdt_call *call);
void sdt_sets_keep(void);
void sdt_sets_shrink(struct sdt_state *state);
void sdt_sets_take_out(const void *of);
void sdt_sets_use(struct sdt_state *state, struct sdt_set *set);

#endif /* SDT_SETS_H */
