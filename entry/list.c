// SPDX-License-Identifier: GPL-2.0-only
/* Print the debugfs files entry/list and entry/stats. */
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>

#include "../base/lists.h"
#include "hit.h"
#include "list.h"
#include "names.h"
#include "registry.h"

/* Return the names of a site's actions, as the file entry/list shows them. */
static const char *get_action_names(const struct patcher_compact_site *site)
{
	switch (site->data & ENTRY_ACTIONS) {
	case ENTRY_COUNT | ENTRY_EVENT:
		return "count,event";
	case ENTRY_COUNT:
		return "count";
	case ENTRY_EVENT:
		return "event";
	default:
		return "-";
	}
}

static void show_entry_site(struct seq_file *m, const struct entry_table *table, unsigned int i)
{
	const struct patcher_compact_site *site = &table->sites.compact[i];
	char function[ENTRY_MAX_FUNCTION];
	unsigned long offset;
	const char *name = entry_get_symbol(table, i, &offset);

	seq_printf(m, "%s:%s:%s %s %s %lu %s@+0x%lx\n", module_name(table->sites.module),
		   entry_strip_cold_suffix(function, name),
		   site->data & ENTRY_EXIT ? "exit" : "entry",
		   site->data & ENTRY_ON ? "on" : "off",
		   get_action_names(site),
		   table->counts ? atomic_long_read(&table->counts[i]) : 0, name, offset);
}

/* Show a line for each recorded entry and exit, in address order within each module. */
int entry_list_show(struct seq_file *m, void *unused)
{
	struct entry_table *table;
	unsigned int i;

	seq_puts(m, "module:function:kind state action counted place\n");
	mutex_lock(&entry_registry.lock);
	list_for_each_entry(table, &entry_registry.tables, node)
		for (i = 0; i < table->sites.nr && kmarkers_seq_has_space(m); i++)
			show_entry_site(m, table, i);
	mutex_unlock(&entry_registry.lock);
	return 0;
}

/* Show the numbers of sites and of hits, summed over all modules. */
int entry_stats_show(struct seq_file *m, void *unused)
{
	unsigned long modules = 0, nr = 0, exits = 0, on = 0, stuck = 0, counted = 0;
	struct entry_table *table;
	struct patcher_compact_site *site;
	unsigned int i;

	mutex_lock(&entry_registry.lock);
	list_for_each_entry(table, &entry_registry.tables, node)
		modules++;
	entry_for_each_site(site, table, i) {
		nr++;
		exits += !!(site->data & ENTRY_EXIT);
		on += !!(site->data & ENTRY_ON);
		stuck += !!(site->data & ENTRY_STUCK);
		counted += table->counts ? atomic_long_read(&table->counts[i]) : 0;
	}
	mutex_unlock(&entry_registry.lock);
	seq_printf(m, "modules %lu\n", modules);
	seq_printf(m, "entries %lu\n", nr - exits);
	seq_printf(m, "exits %lu\n", exits);
	seq_printf(m, "table_bytes %lu\n", nr * sizeof(*site));
	seq_printf(m, "on %lu\n", on);
	seq_printf(m, "stuck %lu\n", stuck);
	seq_printf(m, "counted %lu\n", counted);
	seq_printf(m, "unwatched %lu\n", entry_count_hits_without_rcu());
	return 0;
}
