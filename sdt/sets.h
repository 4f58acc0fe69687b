/* SPDX-License-Identifier: GPL-2.0-only */
/* Sets of handlers, shared by sites. */
#ifndef SDT_SETS_H
#define SDT_SETS_H

#include <linux/compiler.h>
#include <linux/list.h>
#include <linux/rcupdate.h>

#include <kmarkers/sdt.h>

struct sdt_state;

/**
 * struct sdt_call - a handler in a set
 * @handler: the handler; after the handler was removed, a function that does nothing
 * @private: private data of the handler
 * @attachment: the attachment that the handler belongs to, compared by address
 */
struct sdt_call {
	sdt_handler *handler;
	void *private;
	const void *attachment;
};

/* Call a handler. Preemption is disabled. */
static __always_inline void sdt_call_handler(const struct sdt_call *call, const struct sdt_hit *hit)
{
	READ_ONCE(call->handler)(call->private, hit);
}

/**
 * struct sdt_set - a set of handlers, shared by all sites that have the same handlers
 * @rcu: used to free the set after a grace period
 * @node: link in the list of all sets
 * @users: number of sites that use the set
 * @live: number of handlers that have not been removed
 * @nr: number of handlers, including removed handlers
 * @grown: copy of this set with one more handler, while this handler is being attached; else NULL
 * @from: the set from which this set was copied, while a handler is being attached; else NULL
 * @all: a handler that calls all handlers of the set
 * @call: the handlers; an element whose function is NULL ends the array
 *
 * Hits of sites read @all and @call without the registry's lock.
 */
struct sdt_set {
	struct rcu_head rcu;
	struct list_head node;
	unsigned int users;
	unsigned int live;
	unsigned int nr;
	struct sdt_set *grown;
	struct sdt_set *from;
	struct sdt_call all;
	struct sdt_call call[];
};

/* Stands in for the handler at sites that have no handlers: it does nothing. */
extern const struct sdt_call sdt_no_handlers;

/* Return the number of handlers in @set that have not been removed; 0 if @set is NULL. */
static inline unsigned int sdt_count_live_handlers(const struct sdt_set *set)
{
	return set ? set->live : 0;
}

int sdt_add_handler_to_site(struct sdt_state *state, const struct sdt_call *call);
void sdt_commit_handler_sets(void);
void sdt_revert_handler_set(struct sdt_state *state);
void sdt_remove_handler_from_sets(const void *attachment);
void sdt_assign_handler_set(struct sdt_state *state, struct sdt_set *set);

#endif /* SDT_SETS_H */
