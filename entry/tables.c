// SPDX-License-Identifier: GPL-2.0-only
/*
 * Register the recorded functions (built with entry.mk) of a module when the module is loaded, and
 * unregister these functions when the module is unloaded.
 */
#include <linux/delay.h>
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include <kmarkers/redirect.h>

#include "modules.h"
#include "names.h"
#include "registry.h"
#include "rules.h"
#include "switch.h"
#include "tables.h"

/*
 * True once kmarkers_entry is being unloaded: no more tables are added. Guarded by the registry's
 * lock.
 */
static bool is_unloading;

/*
 * True once a module was unregistered with a site that could not be disabled, because of a kprobe
 * or because memory was short. Guarded by the registry's lock.
 */
static bool is_site_left_enabled;

/* True if the whole instruction is in text of the module that is not freed after init. */
static bool is_insn_in_permanent_text(struct module *module, unsigned long addr)
{
	unsigned long last = addr + ENTRY_INSN_LEN - 1;

	return within_module_core(addr, module) && within_module_core(last, module) &&
	       compat_is_in_module_text(module, addr) && compat_is_in_module_text(module, last);
}

static void write_site_record(struct patcher_compact_site *to, unsigned long addr, u32 data)
{
	to->addr = addr - (unsigned long)&to->addr;
	to->data = data & ENTRY_EXIT;
}

/*
 * Move the records of text that is not freed after init to the front of the array, and return the
 * number of these records.  Clear the addresses of the other records, because kmarkers_entry may be
 * loaded again after the kernel has freed and reused the memory of init text.
 */
static unsigned int keep_permanent_text_records(struct module *module,
						struct patcher_compact_site *sites,
						unsigned int nr)
{
	unsigned int i, kept = 0;

	for (i = 0; i < nr; i++) {
		unsigned long addr = patcher_compact_addr(&sites[i]);

		if (is_insn_in_permanent_text(module, addr))
			write_site_record(&sites[kept++], addr, sites[i].data);
	}
	for (i = kept; i < nr; i++)
		sites[i].addr = 0;
	return kept;
}

static struct entry_table *find_entry_table(const struct module *module)
{
	struct entry_table *table;

	lockdep_assert_held(&entry_registry.lock);
	list_for_each_entry(table, &entry_registry.tables, node)
		if (table->sites.module == module)
			return table;
	return NULL;
}

static void free_entry_table(struct entry_table *table)
{
	kvfree(table->counts);
	kvfree(table->by_name);
	kvfree(table->symbols);
	kfree(table);
}

static int register_entry_table(struct entry_table *table)
{
	int err = patcher_register(&table->sites);

	if (err)
		return err;
	/* patcher_register() has sorted the sites, as entry_find_symbols() requires. */
	err = entry_find_symbols(table) ?: entry_add_table_and_apply_rules(table);
	if (err)
		patcher_unregister(&table->sites);
	return err;
}

static int add_entry_table(struct module *module, struct patcher_compact_site *sites,
			   unsigned int nr)
{
	struct entry_table *table;
	int err;

	nr = keep_permanent_text_records(module, sites, nr);
	if (!nr)
		return 0;
	table = kzalloc(sizeof(*table), GFP_KERNEL);
	if (!table)
		return -ENOMEM;
	table->sites = (struct patcher_table) {
		.compact = sites,
		.nr = nr,
		.alike.len = ENTRY_INSN_LEN,
		.module = module,
		.owner = entry_owner,
	};
	err = register_entry_table(table);
	if (err)
		free_entry_table(table);
	return err;
}

static int add_table_of_module(struct module *module)
{
	struct kmarkers_span span;
	int nr, err;

	err = patcher_find_records(module, KMARKERS_SYMBOL(entry), NULL,
				   sizeof(struct patcher_compact_site), &span);
	if (err)
		return err;
	nr = kmarkers_count_records(&span, sizeof(struct patcher_compact_site));
	return nr > 0 ? add_entry_table(module, span.first, nr) : nr;
}

/*
 * Register the records of a module, unless these records are registered already.  The notifier
 * calls this function for a module that is COMING, and a second time when the module is LIVE.  The
 * init of kmarkers_entry calls this function for each module that is live at that time.
 */
static int register_module_records(struct module *module)
{
	return is_unloading || find_entry_table(module) ? 0 : add_table_of_module(module);
}

static void register_records_and_log_error(struct module *module)
{
	int err = register_module_records(module);

	if (err)
		pr_err("module %s: table of function entries and exits not registered, so none of them can be enabled: error %d\n",
		       module->name, err);
}

/**
 * entry_register_module() - register the recorded functions of a module, if there are any
 * @module: a live module, or a module in MODULE_STATE_COMING, whose code does not run yet
 * @is_live: true if the module is live
 *
 * An error does not keep the module from being loaded.  If the module's table is malformed, if
 * memory is short, or if a site that a rule matches cannot be enabled, all sites of the module stay
 * nops.  In the state COMING an error is ignored, because the registration is tried again when the
 * module is live.  An error of this second attempt is logged.
 *
 * Context: may sleep.
 */
void entry_register_module(struct module *module, bool is_live)
{
	mutex_lock(&entry_registry.lock);
	if (is_live)
		register_records_and_log_error(module);
	else
		register_module_records(module);
	mutex_unlock(&entry_registry.lock);
}

/**
 * entry_register_loaded_modules() - register the recorded functions of all live modules
 *
 * Context: may sleep; the module notifier is registered.
 * Return: 0 or -ENOMEM.
 */
int entry_register_loaded_modules(void)
{
	int err;

	mutex_lock(&entry_registry.lock);
	err = entry_for_each_live_module(register_records_and_log_error);
	mutex_unlock(&entry_registry.lock);
	return err;
}

/**
 * entry_unregister_module() - unregister the recorded functions of a module
 * @module: a module in MODULE_STATE_GOING; the functions that set its parameters may still run
 *
 * Context: may sleep; waits for a grace period if the module has recorded functions.
 */
void entry_unregister_module(struct module *module)
{
	struct entry_table *table;

	mutex_lock(&entry_registry.lock);
	table = find_entry_table(module);
	if (table) {
		entry_disable_and_remove_table(table);
		is_site_left_enabled |= table->changed;
		patcher_unregister_nowait(&table->sites);
		/* Hits of other modules' sites may still read the table. */
		synchronize_rcu();
		free_entry_table(table);
	}
	mutex_unlock(&entry_registry.lock);
}

/*
 * Remove all rules, and disable all sites. Repeat until every site is a nop, because an enabled
 * site calls code of this module, which is being unloaded. An attempt fails while a site has a
 * kprobe, or if memory is short. Because an attempt may log a line, the pauses between attempts
 * grow from 0.1 s to 5 s.
 */
static void disable_all_sites(void)
{
	unsigned int attempts = 0;
	int err;

	entry_rules_clear();
	err = entry_disable_sites_without_actions();
	while (entry_is_any_site_enabled()) {
		if (!attempts++)
			pr_warn("module not unloaded yet: waiting for %s\n",
				err == -ENOMEM ? "memory" :
				"a kprobe on a recorded function to be removed");
		mutex_unlock(&entry_registry.lock);
		msleep(100 * min(attempts, 50U));
		mutex_lock(&entry_registry.lock);
		entry_disable_sites_without_actions();
	}
}

/*
 * Wait until no function of an unregistered module can hit a site that was left enabled, and so
 * call entry_call(): functions that set a parameter of the module may run until its state changes.
 */
static void wait_for_unload_of_modules_with_enabled_sites(void)
{
	bool logged = false;

	while (is_site_left_enabled && entry_is_other_module_going()) {
		if (!logged)
			pr_warn("module not unloaded yet: waiting until another module, in which a kprobe is on a recorded function, is unloaded\n");
		logged = true;
		mutex_unlock(&entry_registry.lock);
		msleep(100);
		mutex_lock(&entry_registry.lock);
	}
}

/**
 * entry_unregister_all_modules() - unregister all sites before this module is unloaded
 *
 * On return all sites are nops, no task is in entry_call(), and no more tables are added.
 *
 * Context: may sleep; the module notifier is still registered, because modules may be unloaded
 * while this function waits.
 */
void entry_unregister_all_modules(void)
{
	struct entry_table *table, *next;

	mutex_lock(&entry_registry.lock);
	is_unloading = true;
	disable_all_sites();
	wait_for_unload_of_modules_with_enabled_sites();
	list_for_each_entry_safe(table, next, &entry_registry.tables, node) {
		list_del_rcu(&table->node);
		patcher_unregister(&table->sites);
		free_entry_table(table);
	}
	mutex_unlock(&entry_registry.lock);
	patcher_wait_for_tasks();
}
