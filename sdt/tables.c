// SPDX-License-Identifier: GPL-2.0-only
/*
 * Register the SDT sites of a module when the module is loaded, and unregister these sites when the
 * module is unloaded.
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include <kmarkers/branch.h>
#include <kmarkers/patcher.h>

#include "attach.h"
#include "copies.h"
#include "hit.h"
#include "note_kprobes.h"
#include "registry.h"
#include "sets.h"
#include "switch.h"
#include "tables.h"

const u8 sdt_tables_need_sdt;
EXPORT_SYMBOL_GPL(sdt_tables_need_sdt);

/* For each flavour: length of a site's instruction in bytes. */
static const u8 lengths[] = {
	[SDT_JUMP] = KMARKERS_BRANCH_LEN,
	[SDT_BREAKPOINT] = KMARKERS_BRANCH_LEN,
	[SDT_NOP] = 1,
	[SDT_SPLIT] = 3,
};

/* Check the record of a site without reading the instruction, whose address may be wrong. */
static bool is_valid_site_record(const struct patcher_site *site)
{
	return site->size < ARRAY_SIZE(lengths) && site->len == lengths[site->size] &&
	       !(site->flags & ((1 << SDT_ARGS_SHIFT) - 1)) &&
	       sdt_count_args(site) <= SDT_MAX_ARGS;
}

/*
 * Refuse a site with more arguments than its probe. The compiler cannot check this if it sees only
 * a declaration of the probe.
 */
static int check_argument_counts(const struct sdt_table *table)
{
	unsigned int i;

	for (i = 0; i < table->sites.nr; i++) {
		const struct sdt_probe *probe = sdt_get_probe(sdt_get_site(table, i));
		unsigned int nr = sdt_count_args(sdt_get_site(table, i));

		if (nr <= probe->nr)
			continue;
		pr_err("module %s: SDT probe %s:%s: a site passes %u arguments, but the definition has %u: change the site or the definition\n",
		       module_name(table->sites.module), probe->provider->name, probe->name, nr,
		       probe->nr);
		return -EINVAL;
	}
	return 0;
}

/*
 * Free a table after a grace period, because hits may still use the table. In user space, hits may
 * use even a table that was refused: other threads may run its sites while the table is checked.
 */
void sdt_free_table(struct sdt_table *table)
{
	kvfree(table->notes);
	kvfree_rcu(table, rcu);
}

/* Allocate a table for @nr sites, which are not checked here. Return NULL if memory is short. */
struct sdt_table *sdt_alloc_table(struct module *module, struct patcher_site *sites,
				  unsigned int nr)
{
	struct sdt_table *table;

	table = kvcalloc(1, sizeof(*table) + nr * sizeof(table->states[0]), GFP_KERNEL);
	if (!table)
		return NULL;
	table->sites.sites = sites;
	table->sites.nr = nr;
	table->sites.module = module;
	table->sites.owner = sdt_owner;
	table->sites.trap = sdt_handle_trap;
	return table;
}

static int enable_table_sites(struct sdt_table *table)
{
	int err;

	list_add(&table->node, &sdt_registry.tables);
	err = sdt_enable_sites_with_handlers();
	if (!err)
		return 0;
	sdt_detach_handlers_from_table(table);
	sdt_disarm_notes();
	list_del(&table->node);
	return err;
}

/* Fill in the state of each site. The records are sorted and are not moved any more. */
static void fill_site_states(struct sdt_table *table)
{
	unsigned int i;

	for (i = 0; i < table->sites.nr; i++) {
		const struct patcher_site *site = sdt_get_site(table, i);
		struct sdt_state *state = &table->states[i];

		state->site = site;
		rcu_assign_pointer(state->call, &sdt_no_handlers);
		state->shown.probe = sdt_get_probe(site);
		state->shown.ip = patcher_site_addr(site);
	}
}

/*
 * Write nops to the branches of a new table, attach the handlers whose patterns match, add the
 * table to the registry, and enable the sites that have handlers.
 */
static int add_table_and_enable_sites(struct sdt_table *table)
{
	int err = 0;

	fill_site_states(table);
	if (!table->notes)
		err = sdt_link_site_copies(table) ?: sdt_write_initial_nops(&table->sites);
	if (err)
		return err;
	err = sdt_attach_handlers_to_table(table);
	if (!err)
		return enable_table_sites(table);
	sdt_detach_handlers_from_table(table);
	return err;
}

static int register_site_table(struct sdt_table *table)
{
	int err = patcher_register(&table->sites);

	if (err)
		return err;
	err = add_table_and_enable_sites(table);
	if (err) {
		sdt_clear_sites_of_jump_targets(table);
		patcher_unregister(&table->sites);
	}
	return err;
}

/* Return a table that has a note with one of the numbers @first to @first + @nr - 1, or NULL. */
static const struct sdt_table *find_table_with_note_numbers(unsigned int first, unsigned int nr)
{
	const struct sdt_table *table;

	list_for_each_entry(table, &sdt_registry.tables, node)
		if (table->notes && table->number < first + nr &&
		    first < table->number + table->sites.nr)
			return table;
	return NULL;
}

/*
 * Register a table of SDT notes, and give the notes numbers that no other note has. Notes have no
 * instruction of their own, so they are not registered with the patcher.
 */
static int register_note_table(struct sdt_table *table)
{
	const struct sdt_table *other;
	int err;

	while ((other = find_table_with_note_numbers(table->number, table->sites.nr)))
		table->number = other->number + other->sites.nr;
	err = add_table_and_enable_sites(table);

	/*
	 * Some SDT notes may have been enabled before the error: wait until their handlers return.
	 */
	if (err)
		synchronize_rcu();
	return err;
}

/**
 * sdt_register_table() - register a table whose records have been checked
 * @table: the table; the caller frees it if an error is returned
 *
 * Context: may sleep.
 * Return: the same values as sdt_register_sites().
 */
int sdt_register_table(struct sdt_table *table)
{
	int err;

	mutex_lock(&sdt_registry.lock);
	err = check_argument_counts(table) ?:
	      table->notes ? register_note_table(table) : register_site_table(table);
	mutex_unlock(&sdt_registry.lock);
	return err;
}

/**
 * sdt_register_sites() - register the sites of a module
 * @module: the module being loaded; NULL in user space
 * @span: the records of the sites
 * @targets: the records of the sites' jump targets, the code that the jumps lead to
 *
 * On return the sites are disabled, or enabled if handlers are attached to them.
 *
 * Context: may sleep; no code of @module runs yet.
 * Return: 0; -EINVAL for a malformed table; -EPERM for a site in init text, which is freed after
 * init; -ENOMEM, or an error of patcher_apply().
 */
int sdt_register_sites(struct module *module, const struct kmarkers_span *span,
		       const struct kmarkers_span *targets)
{
	int nr_targets = kmarkers_count_records(targets, sizeof(struct sdt_target));
	struct patcher_site *sites = span->first;
	int i, err, nr = kmarkers_count_records(span, sizeof(*sites));
	struct sdt_table *table;

	if (nr <= 0)
		return nr;
	if (nr_targets < 0)
		return nr_targets;
	for (i = 0; i < nr; i++)
		if (!is_valid_site_record(&sites[i]))
			return -EINVAL;
	table = sdt_alloc_table(module, sites, nr);
	if (!table)
		return -ENOMEM;
	table->targets = targets->first;
	table->nr_targets = nr_targets;
	err = sdt_register_table(table);
	if (err)
		sdt_free_table(table);
	return err;
}

/* True if a site of a table is a breakpoint. Only breakpoints of registered tables are handled. */
static bool has_site_with_breakpoint(const struct sdt_table *table)
{
	unsigned int i;

	for (i = 0; i < table->sites.nr; i++)
		if (table->states[i].mode == SDT_TRAPPED)
			return true;
	return false;
}

/**
 * sdt_unregister_module() - unregister the sites of a module
 * @module: a module in MODULE_STATE_GOING; the functions that set its parameters may still run
 * @keep_trapped: true to keep a table registered, without handlers and trace events, if one of its
 *	sites is a breakpoint that could not be removed, because of a kprobe or because memory is
 *	short
 *
 * Context: may sleep; waits for a grace period if the module has sites.
 */
void sdt_unregister_module(struct module *module, bool keep_trapped)
{
	struct sdt_table *table, *next;

	mutex_lock(&sdt_registry.lock);
	list_for_each_entry_safe(table, next, &sdt_registry.tables, node) {
		if (table->sites.module != module)
			continue;
		/* Disable the sites first: breakpoints of an unregistered table are not handled. */
		sdt_detach_handlers_from_table(table);
		sdt_disable_sites_without_handlers();
		table->ready = false;
		if (keep_trapped && has_site_with_breakpoint(table))
			continue;
		list_del(&table->node);
		sdt_clear_sites_of_jump_targets(table);
		if (!table->notes)
			patcher_unregister_nowait(&table->sites);
		/* After this grace period no hit reads the table. */
		synchronize_rcu();
		sdt_free_table(table);
	}
	mutex_unlock(&sdt_registry.lock);
}
