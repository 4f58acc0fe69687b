// SPDX-License-Identifier: GPL-2.0-only
/*
 * Count how often each immediate value was changed.  The counters are in an array that is sorted by
 * address.
 */
#include <linux/errno.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <kmarkers/immediate.h>
#include <kmarkers/patcher.h>
#include <kmarkers/search.h>

#include "tables.h"
#include "updates.h"

/* Number of changes of the immediate value at the address @var. */
struct update {
	unsigned long var;
	unsigned long count;
};

static struct {
	struct update *list;
	unsigned int nr, capacity;
} updates;

static unsigned long get_update_variable(const void *list, unsigned int i)
{
	return ((const struct update *)list)[i].var;
}

static struct update *find_update_counter(const void *var)
{
	unsigned int at = kmarkers_lower_bound(updates.list, updates.nr, (unsigned long)var,
					       get_update_variable);

	lockdep_assert_held(&imv_tables.lock);
	return at < updates.nr && updates.list[at].var == (unsigned long)var ?
	       &updates.list[at] : NULL;
}

static int reserve_update_counters(unsigned int nr)
{
	struct update *list;

	if (nr <= updates.capacity)
		return 0;
	if (nr < 2 * updates.capacity)
		nr = 2 * updates.capacity;
	list = kvcalloc(nr, sizeof(*list), GFP_KERNEL);
	if (!list)
		return -ENOMEM;
	if (updates.nr)
		memcpy(list, updates.list, updates.nr * sizeof(*list));
	kvfree(updates.list);
	updates.list = list;
	updates.capacity = nr;
	return 0;
}

/*
 * Count the variables that @sites read and that have no counter yet.  @sites are sorted by
 * variable.
 */
static unsigned int count_missing_counters(const struct patcher_site *const *sites, unsigned int nr)
{
	unsigned long var, last = 0;
	unsigned int i, missing = 0;

	for (i = 0; i < nr; i++) {
		var = patcher_site_key(sites[i]);
		missing += var != last && !find_update_counter((void *)var);
		last = var;
	}
	return missing;
}

/**
 * imv_add_update_counters() - add counters for the variables of a table
 * @sites: the sites that read the variables, sorted by variable
 * @nr: number of sites
 *
 * Return: 0 or -ENOMEM.
 */
int imv_add_update_counters(const struct patcher_site *const *sites, unsigned int nr)
{
	unsigned int old = updates.nr, to, missing = count_missing_counters(sites, nr);
	int err;

	err = reserve_update_counters(old + missing);
	if (err)
		return err;

	/*
	 * Fill the array from its end, so that each old counter is moved before it is overwritten.
	 */
	updates.nr += missing;
	for (to = updates.nr; to > old; ) {
		unsigned long var = patcher_site_key(sites[nr - 1]);

		if (old && updates.list[old - 1].var > var) {
			updates.list[--to] = updates.list[--old];
			continue;
		}
		nr--;
		if ((to == updates.nr || updates.list[to].var != var) &&
		    !(old && updates.list[old - 1].var == var))
			updates.list[--to] = (struct update){ .var = var };
	}
	return 0;
}

/**
 * imv_count_updates() - count changes of immediate values
 * @changes: the changes that were made; changes of a variable that no site reads are not counted
 * @nr: number of changes
 */
void imv_count_updates(const struct imv_change *changes, unsigned int nr)
{
	struct update *update;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		update = find_update_counter(changes[i].var);
		if (update)
			update->count++;
	}
}

/**
 * imv_get_update_count() - return the number of times that an immediate value was changed
 * @var: address of the variable that holds the value
 */
unsigned long imv_get_update_count(const void *var)
{
	const struct update *update = find_update_counter(var);

	return update ? update->count : 0;
}

/**
 * imv_remove_update_counters() - remove the counters of the values that a module defines
 * @module: the module being unloaded; NULL removes all counters
 */
void imv_remove_update_counters(struct module *module)
{
	unsigned int i, nr = 0;

	for (i = 0; module && i < updates.nr; i++)
		if (!within_module(updates.list[i].var, module))
			updates.list[nr++] = updates.list[i];
	updates.nr = nr;
	if (nr)
		return;
	kvfree(updates.list);
	updates.list = NULL;
	updates.capacity = 0;
}
