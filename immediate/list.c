// SPDX-License-Identifier: GPL-2.0-only
/* Print the debugfs file immediate/list. */
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "../base/lists.h"
#include "list.h"
#include "reads.h"
#include "symbol.h"
#include "tables.h"
#include "updates.h"

/* Number of sites in one module that read the immediate value at the address @var. */
struct usage {
	unsigned long var;
	struct module *module;
	unsigned int sites;
	u8 size;
};

static int compare_values_and_modules(const void *a, const void *b)
{
	const struct usage *x = a, *y = b;

	if (x->var != y->var)
		return x->var < y->var ? -1 : 1;
	return x->module < y->module ? -1 : x->module > y->module;
}

static unsigned int count_imv_sites(void)
{
	const struct imv_table *table;
	unsigned int nr = 0;

	list_for_each_entry(table, &imv_tables.list, node)
		nr += table->sites.nr;
	return nr;
}

/* Fill @usage: one element for each pair of variable and module.  Return the number of elements. */
static unsigned int collect_variable_usage(struct usage *usage)
{
	const struct imv_table *table;
	unsigned int i, nr = 0, joined = 0;

	list_for_each_entry(table, &imv_tables.list, node) {
		for (i = 0; i < table->sites.nr; i++) {
			const struct patcher_site *site = &table->sites.sites[i];

			usage[nr++] = (struct usage){ patcher_site_key(site), table->sites.module,
						      1, site->size };
		}
	}
	sort(usage, nr, sizeof(*usage), compare_values_and_modules, NULL);
	for (i = 1; i < nr; i++) {
		if (!compare_values_and_modules(&usage[joined], &usage[i]))
			usage[joined].sites++;
		else
			usage[++joined] = usage[i];
	}
	return nr ? joined + 1 : 0;
}

/*
 * Print one line for each pair of a variable and a module that reads it.  The function holds
 * imv_tables.lock, so no value changes during the output.
 */
int imv_list_show(struct seq_file *m, void *unused)
{
	struct usage *usage;
	unsigned int i, nr;

	mutex_lock(&imv_tables.lock);
	usage = kvcalloc(count_imv_sites() + 1, sizeof(*usage), GFP_KERNEL);
	if (!usage) {
		mutex_unlock(&imv_tables.lock);
		return -ENOMEM;
	}
	nr = collect_variable_usage(usage);
	seq_puts(m, "variable size value updates module sites\n");
	for (i = 0; i < nr && kmarkers_seq_has_space(m); i++) {
		const void *var = (void *)usage[i].var;

		imv_show_variable_name(m, usage[i].var);
		seq_printf(m, " %u 0x%llx %lu %s %u\n", usage[i].size,
			   (unsigned long long)imv_load_value(var, usage[i].size),
			   imv_get_update_count(var), module_name(usage[i].module), usage[i].sites);
	}
	mutex_unlock(&imv_tables.lock);
	kvfree(usage);
	return 0;
}
