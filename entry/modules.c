// SPDX-License-Identifier: GPL-2.0-only
/*
 * Find modules that were loaded before this module. The kernel does not export its list of modules,
 * but the struct module of this module is linked into that list.
 */
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/rculist.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <asm/pgtable.h>

#include "modules.h"
#include "registry.h"

/* True for the head of the list of modules, which is in the kernel's data; false for a module. */
static bool is_module_list_head(const struct list_head *node)
{
	return (unsigned long)node < MODULES_VADDR;
}

static struct module *get_module_of_node(struct list_head *node)
{
	return is_module_list_head(node) ? NULL : list_entry(node, struct module, list);
}

/*
 * Store at most @max_modules live modules in @modules, and return the number of all live modules.
 * Ignore modules in MODULE_STATE_COMING: if an earlier notifier rejects such a module, the module
 * is freed without a call of the notifier of kmarkers_entry.
 */
static unsigned int collect_live_modules(struct module **modules, unsigned int max_modules)
{
	struct list_head *node;
	struct module *module;
	unsigned int nr = 0;

	rcu_read_lock();
	for (node = READ_ONCE(THIS_MODULE->list.next); node != &THIS_MODULE->list;
	     node = READ_ONCE(node->next)) {
		module = get_module_of_node(node);
		if (!module || module->state != MODULE_STATE_LIVE)
			continue;
		if (nr < max_modules)
			modules[nr] = module;
		nr++;
	}
	rcu_read_unlock();
	return nr;
}

/**
 * entry_for_each_live_module() - call a function for each live module
 * @each: the function
 *
 * The caller has registered its module notifier, which takes the registry's lock in
 * MODULE_STATE_GOING.  So no module is freed until the caller releases the lock.  Modules in
 * MODULE_STATE_COMING are not visited: the notifier is called again when they are live.
 *
 * Context: may sleep; the registry's lock is held.
 * Return: 0 or -ENOMEM.
 */
int entry_for_each_live_module(void (*each)(struct module *module))
{
	unsigned int i, most = collect_live_modules(NULL, 0), nr;
	struct module **modules = kvcalloc(most ?: 1, sizeof(*modules), GFP_KERNEL);

	lockdep_assert_held(&entry_registry.lock);
	if (!modules)
		return -ENOMEM;
	nr = min(collect_live_modules(modules, most), most);
	for (i = 0; i < nr; i++)
		each(modules[i]);
	kvfree(modules);
	return 0;
}

/*
 * Return true if a module other than this one is in MODULE_STATE_GOING.  The kernel ends this state
 * after the last function that sets a parameter of the module has returned.
 */
bool entry_is_other_module_going(void)
{
	struct list_head *node;
	struct module *module;
	bool going = false;

	rcu_read_lock();
	for (node = READ_ONCE(THIS_MODULE->list.next); node != &THIS_MODULE->list && !going;
	     node = READ_ONCE(node->next)) {
		module = get_module_of_node(node);
		going = module && READ_ONCE(module->state) == MODULE_STATE_GOING;
	}
	rcu_read_unlock();
	return going;
}
