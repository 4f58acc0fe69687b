// SPDX-License-Identifier: GPL-2.0-only
/* Change immediate values: each change is a batch of the patcher. */
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include <kmarkers/immediate.h>
#include <kmarkers/patcher.h>

#include "reads.h"
#include "tables.h"
#include "updates.h"

static void store_variable_value(void *var, u64 value, unsigned int size)
{
	switch (size) {
	case 1:
		WRITE_ONCE(*(u8 *)var, value);
		break;
	case 2:
		WRITE_ONCE(*(u16 *)var, value);
		break;
	case 4:
		WRITE_ONCE(*(u32 *)var, value);
		break;
	default:
		WRITE_ONCE(*(u64 *)var, value);
	}
}

static int compare_changes(const void *a, const void *b)
{
	const struct imv_change *x = a, *y = b;

	return x->var < y->var ? -1 : x->var > y->var;
}

/*
 * Fill in a poke for each site that is in a table and reads the changed variable.  If @pokes is
 * NULL, only count these sites.  Set @sites_intact to false if a site does not hold an instruction
 * that reads an immediate value.  Return the number of sites, or -EINVAL if a site reads the
 * variable with another size than @change has.
 */
static int collect_pokes_in_table(const struct imv_table *table, const struct imv_change *change,
				  struct patcher_poke *pokes, bool *sites_intact)
{
	unsigned long var = (unsigned long)change->var;
	unsigned int i, first = imv_find_first_site(table, var);

	for (i = first; i < table->sites.nr; i++) {
		const struct patcher_site *site = table->by_var[i];

		if (patcher_site_key(site) != var)
			break;
		if (change->size != site->size)
			return -EINVAL;
		if (pokes && !imv_fill_poke(&pokes[i - first], site, change->value))
			*sites_intact = false;
	}
	return i - first;
}

/*
 * Call collect_pokes_in_table() for all tables and all changes.  Return the total number of sites,
 * or -EINVAL.
 */
static int collect_pokes_in_all_tables(const struct imv_change *changes, unsigned int nr,
				       struct patcher_poke *pokes, bool *sites_intact)
{
	struct imv_table *table;
	unsigned int i;
	int count = 0, found;

	list_for_each_entry(table, &imv_tables.list, node) {
		for (i = 0; i < nr; i++) {
			found = collect_pokes_in_table(table, &changes[i],
						       pokes ? pokes + count : NULL, sites_intact);
			if (found < 0)
				return found;
			count += found;
		}
	}
	return count;
}

static int patch_sites_reading_variables(struct imv_change *changes, unsigned int nr)
{
	struct patcher_poke *pokes;
	bool intact = true;
	unsigned int i;
	int count, err;

	lockdep_assert_held(&imv_tables.lock);
	sort(changes, nr, sizeof(*changes), compare_changes, NULL);
	for (i = 1; i < nr; i++)
		if (changes[i - 1].var == changes[i].var)
			return -EINVAL;
	count = collect_pokes_in_all_tables(changes, nr, NULL, NULL);
	if (count <= 0)
		return count;
	pokes = kvcalloc(count, sizeof(*pokes), GFP_KERNEL);
	if (!pokes)
		return -ENOMEM;
	collect_pokes_in_all_tables(changes, nr, pokes, &intact);
	err = patcher_apply(imv_owner, pokes, count);
	/* If a site holds unexpected bytes, return -EILSEQ instead of -EINVAL. */
	if (err == -EINVAL && !intact)
		err = -EILSEQ;
	if (!err)
		imv_count_updates(changes, nr);
	kvfree(pokes);
	return err;
}

/**
 * imv_set_many() - change several immediate values in one batch
 * @changes: the changed variables, each at most once, with new values; sorted in place
 * @nr: number of changes, limited only by memory: a batch needs about 48 bytes for each site
 *
 * Context: may sleep.
 * Return: 0; or an error, with all values and sites unchanged: -EINVAL if a site reads
 * a variable with another size or a variable is named twice, -ENOMEM, or an error of
 * patcher_apply().
 */
int imv_set_many(struct imv_change *changes, unsigned int nr)
{
	unsigned int i;
	int err;

	mutex_lock(&imv_tables.lock);
	err = patch_sites_reading_variables(changes, nr);
	for (i = 0; !err && i < nr; i++)
		store_variable_value(changes[i].var, changes[i].value, changes[i].size);
	mutex_unlock(&imv_tables.lock);
	return err;
}
EXPORT_SYMBOL_GPL(imv_set_many);
