/* SPDX-License-Identifier: GPL-2.0-only */
/* The tables of immediate values of all modules. */
#ifndef IMMEDIATE_TABLES_H
#define IMMEDIATE_TABLES_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>

#include <kmarkers/patcher.h>

/**
 * struct imv_table - the sites of a module
 * @node: in the list of all
 * @rcu: for the grace period before it is freed
 * @sites: what the patcher knows: sorted by address
 * @by_var: the same sites, sorted by variable
 */
struct imv_table {
	struct list_head node;
	struct rcu_head rcu;
	struct patcher_table sites;
	const struct patcher_site **by_var;
};

/* What the patcher calls us: compared by address, so it is there once. */
extern const char *const imv_owner;

struct imv_tables {
	struct mutex lock;		/* before the patcher's; also keeps the variables still */
	struct list_head list;
};

extern struct imv_tables imv_tables;

unsigned int imv_first_reader(const struct imv_table *table, unsigned long var);

#endif /* IMMEDIATE_TABLES_H */
