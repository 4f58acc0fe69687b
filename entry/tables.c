// SPDX-License-Identifier: GPL-2.0-only
/* Tables of modules with recorded functions: added and removed with the modules. */
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "modules.h"
#include "registry.h"
#include "rules.h"
#include "switch.h"
#include "tables.h"

/* True once this module unloads: no table is added any more. Guarded by the registry's lock. */
static bool leaving;

/* Is all of an instruction in text that stays as long as the module? */
static bool entry_stays(struct module *module, unsigned long addr)
{
	unsigned long last = addr + ENTRY_INSN_LEN - 1;

	return within_module_core(addr, module) && within_module_core(last, module) &&
	       compat_module_text(module, addr) && compat_module_text(module, last);
}

static void put_site(struct patcher_compact_site *to, unsigned long addr, u32 data)
{
	to->addr = addr - (unsigned long)&to->addr;
	to->data = data & ENTRY_EXIT;
}

/*
 * Move the records of text that stays to the front, and return how many they are.  Init
 * text is freed when the module's init has returned, and then another module may have
 * its memory: its records point at nothing from now on, also for a later load of ours.
 */
static unsigned int keep_those_that_stay(struct module *module, struct patcher_compact_site *sites,
					 unsigned int nr)
{
	unsigned int i, kept = 0;

	for (i = 0; i < nr; i++) {
		unsigned long addr = patcher_compact_addr(&sites[i]);

		if (entry_stays(module, addr))
			put_site(&sites[kept++], addr, sites[i].data);
	}
	for (i = kept; i < nr; i++)
		sites[i].addr = 0;
	return kept;
}

static struct entry_table *find_table(const struct module *module)
{
	struct entry_table *table;

	lockdep_assert_held(&entry_registry.lock);
	list_for_each_entry(table, &entry_registry.tables, node)
		if (table->sites.module == module)
			return table;
	return NULL;
}

static void free_table(struct entry_table *table)
{
	kvfree(table->counts);
	kfree(table);
}

static int register_entry_table(struct entry_table *table)
{
	int err = patcher_register(&table->sites);

	if (err)
		return err;
	err = entry_rules_join(table);
	if (err)
		patcher_unregister(&table->sites);
	return err;
}

static int add_entry_table(struct module *module, struct patcher_compact_site *sites,
			   unsigned int nr)
{
	struct entry_table *table;
	int err;

	nr = keep_those_that_stay(module, sites, nr);
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
		free_table(table);
	return err;
}

static int find_records(struct module *module)
{
	struct kmarkers_span span;
	int nr, err;

	err = patcher_find_records(module, KMARKERS_SYMBOL(entry), NULL,
				   sizeof(struct patcher_compact_site), &span);
	if (err)
		return err;
	nr = kmarkers_span_records(&span, sizeof(struct patcher_compact_site));
	return nr > 0 ? add_entry_table(module, span.first, nr) : nr;
}

/*
 * A module is added by the notifier (COMING, LIVE), or by the scan when this module is loaded after
 * it.
 */
static int take_over(struct module *module)
{
	return leaving || find_table(module) ? 0 : find_records(module);
}

static void take_over_or_tell(struct module *module)
{
	int err = take_over(module);

	if (err)
		pr_err("%s: its functions cannot be switched: error %d\n", module->name, err);
}

/**
 * entry_add_module() - register the recorded functions of a module, if it has any
 * @module: a module that is coming, none of whose code runs yet, or one that is live
 * @is_live: which of them
 *
 * A client works without us: if its table is malformed or there is no memory, or if a
 * site that is to be on cannot be switched, its sites stay nops.  It is tried once more
 * when the module is live, and then the log says so.
 *
 * Context: may sleep.
 */
void entry_add_module(struct module *module, bool is_live)
{
	mutex_lock(&entry_registry.lock);
	if (is_live)
		take_over_or_tell(module);
	else
		take_over(module);
	mutex_unlock(&entry_registry.lock);
}

/**
 * entry_add_present() - register the recorded functions of all modules loaded before this one
 *
 * Context: may sleep; the notifier of modules is registered.
 * Return: 0 or -ENOMEM.
 */
int entry_add_present(void)
{
	int err;

	mutex_lock(&entry_registry.lock);
	err = entry_for_each_module(take_over_or_tell);
	mutex_unlock(&entry_registry.lock);
	return err;
}

/**
 * entry_drop_module() - unregister the recorded functions of a module
 * @module: a module that leaves; of its code, what sets its parameters may still run
 *
 * Context: may sleep; waits for a grace period if there are any.
 */
void entry_drop_module(struct module *module)
{
	struct entry_table *table;

	mutex_lock(&entry_registry.lock);
	table = find_table(module);
	if (table) {
		entry_rules_leave(table);
		patcher_drop(&table->sites);
		/* Hits of other sites may be walking the list: wait before the table is freed. */
		synchronize_rcu();
		free_table(table);
	}
	mutex_unlock(&entry_registry.lock);
}

/*
 * Disable all sites. A site with another owner's kprobe cannot be disabled: wait until the kprobe
 * is gone, because the code that the site calls must not be unloaded before. Wait for memory, too.
 * Each attempt may log a line, so the intervals grow.
 */
static void switch_all_off(void)
{
	unsigned int turns = 0;
	int err;

	entry_rules_clear();
	err = entry_switch_off();
	while (entry_any_is_on()) {
		if (!turns++)
			pr_warn("cannot unload yet: waiting for %s\n", err == -ENOMEM ? "memory" : "a kprobe on a recorded function to be removed");
		mutex_unlock(&entry_registry.lock);
		msleep(100 * min(turns, 50U));
		mutex_lock(&entry_registry.lock);
		entry_switch_off();
	}
}

static void do_nothing(struct work_struct *work)
{
}

/*
 * Wait until other tasks have run on all CPUs.  An idle task that was in entry_call(), of
 * which RCU knows nothing, has left it by then: it is not preempted, and gives its CPU
 * away in its own loop.
 */
static void wait_for_idle_tasks(void)
{
	struct work_struct work;
	unsigned int cpu;

	INIT_WORK_ONSTACK(&work, do_nothing);
	cpus_read_lock();
	for_each_online_cpu(cpu) {
		schedule_work_on(cpu, &work);
		flush_work(&work);
	}
	cpus_read_unlock();
	destroy_work_on_stack(&work);
}

/**
 * entry_drop_all() - unregister all sites before this module is unloaded
 *
 * On return all sites are nops, no task is in what they called, and no table comes any more.
 *
 * Context: may sleep; the notifier of modules is registered, since clients may leave
 * while a kprobe is waited for.
 */
void entry_drop_all(void)
{
	struct entry_table *table, *next;

	mutex_lock(&entry_registry.lock);
	leaving = true;
	switch_all_off();
	list_for_each_entry_safe(table, next, &entry_registry.tables, node) {
		list_del_rcu(&table->node);
		patcher_unregister(&table->sites);
		free_table(table);
	}
	mutex_unlock(&entry_registry.lock);
	/* Wait for tasks that were preempted in entry_call(). */
	synchronize_rcu_tasks();
	wait_for_idle_tasks();
}
