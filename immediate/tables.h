/* SPDX-License-Identifier: GPL-2.0-only */
/* The tables of immediate values, one table for each module. */
#ifndef IMMEDIATE_TABLES_H
#define IMMEDIATE_TABLES_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>

#include <kmarkers/patcher.h>

/**
 * struct imv_table - the sites of a module
 * @node: link in the list of all tables
 * @rcu: argument of kfree_rcu(), which frees the table after a grace period
 * @sites: the table that is registered with the patcher, sorted by address
 * @by_var: pointers to the same sites, sorted by variable
 */
struct imv_table {
	struct list_head node;
	struct rcu_head rcu;
	struct patcher_table sites;
	const struct patcher_site **by_var;
};

/* Owner of all sites of immediate values.  The patcher compares owners by address. */
extern const char *const imv_owner;

struct imv_tables {
	struct mutex lock;	/* protects the list and all values; taken before patcher_lock() */
	struct list_head list;
};

extern struct imv_tables imv_tables;

unsigned int imv_find_first_site(const struct imv_table *table, unsigned long var);

#endif /* IMMEDIATE_TABLES_H */
