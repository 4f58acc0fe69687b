// SPDX-License-Identifier: GPL-2.0-only
/*
 * Register the table of immediate values of each module, and unregister the table when the module
 * is unloaded.
 */
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>

#include <kmarkers/patcher.h>

#include "load.h"
#include "reads.h"
#include "tables.h"
#include "updates.h"

/*
 * Write the current values of the variables into the sites of a new table.  The compiled code does
 * not contain these values: each mov has the operand 0, and each branch is a conditional jump.
 */
static int write_values_into_sites(const struct patcher_table *table)
{
	struct patcher_poke *pokes;
	unsigned int i, count = 0;
	int err = 0;

	pokes = kvcalloc(table->nr, sizeof(*pokes), GFP_KERNEL);
	if (!pokes)
		return -ENOMEM;
	for (i = 0; i < table->nr; i++) {
		const struct patcher_site *site = &table->sites[i];
		struct patcher_poke *poke = &pokes[count];

		if (!imv_fill_poke(poke, site,
				   imv_load_value((void *)patcher_site_key(site), site->size))) {
			err = -EINVAL;
			break;
		}
		count += !!memcmp(poke->old, poke->new, poke->len);
	}
	if (count && !err)
		err = patcher_apply_at_load(table, pokes, count);
	kvfree(pokes);
	return err;
}

static int compare_site_variables(const void *a, const void *b)
{
	unsigned long x = patcher_site_key(*(const struct patcher_site **)a);
	unsigned long y = patcher_site_key(*(const struct patcher_site **)b);

	return x < y ? -1 : x > y;
}

/*
 * Fill @table->by_var with pointers to the sites, sorted by variable, and add a counter of changes
 * for each variable.  The patcher has already sorted the sites, so the pointers stay valid.
 */
static int sort_sites_by_variable(struct imv_table *table)
{
	unsigned int i, nr = table->sites.nr;

	table->by_var = kvcalloc(nr, sizeof(*table->by_var), GFP_KERNEL);
	if (!table->by_var)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		table->by_var[i] = &table->sites.sites[i];
	sort(table->by_var, nr, sizeof(*table->by_var), compare_site_variables, NULL);
	return imv_add_update_counters(table->by_var, nr);
}

static int register_imv_table(struct imv_table *table)
{
	int err;

	lockdep_assert_held(&imv_tables.lock);
	err = patcher_register(&table->sites);
	if (err)
		return err;
	err = sort_sites_by_variable(table) ?: write_values_into_sites(&table->sites);
	if (err) {
		patcher_unregister(&table->sites);
		return err;
	}
	list_add_tail(&table->node, &imv_tables.list);
	return 0;
}

/**
 * imv_register_module_sites() - register the sites of a module
 * @module: the module being loaded; NULL in user space
 * @span: the records of the module's sites
 *
 * On return every site reads the current value of its variable.
 *
 * Context: may sleep; no code of @module runs yet.
 * Return: 0; -EINVAL for a malformed table; -EPERM for a site in text that is freed
 * after init; -ENOMEM, or an error of patcher_apply().
 */
int imv_register_module_sites(struct module *module, const struct kmarkers_span *span)
{
	struct patcher_site *sites = span->first;
	int i, err, nr = kmarkers_count_records(span, sizeof(*sites));
	struct imv_table *table;

	if (nr <= 0)
		return nr;
	for (i = 0; i < nr; i++)
		if (!imv_is_site_record_valid(&sites[i]))
			return -EINVAL;
	table = kzalloc(sizeof(*table), GFP_KERNEL);
	if (!table)
		return -ENOMEM;
	table->sites.sites = sites;
	table->sites.nr = nr;
	table->sites.module = module;
	table->sites.owner = imv_owner;

	mutex_lock(&imv_tables.lock);
	err = register_imv_table(table);
	mutex_unlock(&imv_tables.lock);
	if (err) {
		kvfree(table->by_var);
		kfree(table);
	}
	return err;
}

/**
 * imv_unregister_module_sites() - unregister the sites of a module
 * @module: the module being unloaded
 *
 * Functions that set the module's parameters may still run, and read the values that the sites hold
 * now.  Breakpoint handlers may still use the sites.  The kernel waits for an RCU grace period
 * before it frees the module's memory, in free_module() and after a failed load.
 *
 * Context: may sleep.
 */
void imv_unregister_module_sites(struct module *module)
{
	struct imv_table *table, *next;

	mutex_lock(&imv_tables.lock);
	list_for_each_entry_safe(table, next, &imv_tables.list, node) {
		if (table->sites.module != module)
			continue;
		list_del(&table->node);
		patcher_unregister_nowait(&table->sites);
		kvfree(table->by_var);
		kfree_rcu(table, rcu);
	}
	imv_remove_update_counters(module);
	mutex_unlock(&imv_tables.lock);
}
