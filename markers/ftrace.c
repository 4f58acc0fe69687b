// SPDX-License-Identifier: GPL-2.0-only
/*
 * Markers at the entries of functions.  While a marker of this kind is on, its ftrace_ops are
 * registered, and ftrace calls call_function_marker() at each entry of the function.
 *
 * Probes may call functions that have a marker, because ftrace does not call call_function_marker()
 * recursively in the same context.
 */
#include <linux/errno.h>
#include <linux/ftrace.h>
#include <linux/kallsyms.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/pgtable.h>
#include <linux/printk.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <kmarkers/redirect.h>

#include "ftrace.h"

#define FORMAT		"caller %pS args %lx %lx %lx %lx %lx %lx"
#define FORMAT_ARGS	7

static void notrace call_function_marker(unsigned long ip, unsigned long parent_ip,
					 struct ftrace_ops *ops, struct compat_ftrace_regs *regs)
{
	struct function_marker *function = container_of(ops, struct function_marker, ops);

	marker_call_probes(&function->marker, (void *)parent_ip,
			   compat_ftrace_get_argument(regs, 0), compat_ftrace_get_argument(regs, 1),
			   compat_ftrace_get_argument(regs, 2), compat_ftrace_get_argument(regs, 3),
			   compat_ftrace_get_argument(regs, 4),
			   compat_ftrace_get_argument(regs, 5));
}

/* Switch on or off a marker of the flavour MARKER_FUNCTION, which is attached to a function. */
int marker_ftrace_switch(struct marker *marker, bool on)
{
	struct function_marker *function = container_of(marker, struct function_marker, marker);

	if (!!(function->ops.flags & FTRACE_OPS_FL_ENABLED) == on)
		return 0;
	return on ? register_ftrace_function(&function->ops) :
		    unregister_ftrace_function(&function->ops);
}

/* Set the function name and the module name of a marker to the names in kallsyms for @addr. */
static void set_function_and_module_name(struct function_marker *function, unsigned long addr)
{
	char text[KSYM_SYMBOL_LEN], *end, *module;

	sprint_symbol(text, addr);
	end = strchrnul(text, '+');
	module = strchr(end, '[');
	*end = '\0';
	strscpy(function->function, text, sizeof(function->function));
	strscpy(function->module, "kernel", sizeof(function->module));
	if (!module)
		return;
	*strchrnul(module, ']') = '\0';
	/* A build ID may follow the module's name. */
	*strchrnul(module, ' ') = '\0';
	strscpy(function->module, module + 1, sizeof(function->module));
}

/*
 * Find the module that contains an address.  __module_address() is not exported, so walk the
 * kernel's list of modules, beginning at this module.  The head of the list is not a struct module;
 * the comparison with MODULES_VADDR skips the head, which is in the kernel's data.
 */
static struct module *find_module_at(unsigned long addr)
{
	struct module *module = THIS_MODULE;

	do {
		if ((unsigned long)module >= MODULES_VADDR && within_module(addr, module))
			return module;
		module = list_entry_rcu(module->list.next, struct module, list);
	} while (module != THIS_MODULE);
	return NULL;
}

/*
 * Set the owner of a function marker: the module at @addr, or this module for a function of the
 * kernel.  Fail if the module at @addr is not in MODULE_STATE_LIVE.  The caller holds the lock of
 * functions.c, so a live module is not freed before marker_functions_detach_from_module(), which
 * takes this lock, has detached the marker.
 */
static int set_owner_module(struct function_marker *function, unsigned long addr,
			    const char *symbol)
{
	struct module *module;
	int err = 0;

	function->owner = THIS_MODULE;
	if (addr < MODULES_VADDR)
		return 0;
	rcu_read_lock();
	module = find_module_at(addr);
	if (module && within_module_init(addr, module))
		err = -EPERM;
	else if (!module || READ_ONCE(module->state) != MODULE_STATE_LIVE)
		err = -ENOENT;
	function->owner = module;
	rcu_read_unlock();
	if (err)
		pr_info("function %.64s: cannot attach a marker: %s\n", symbol, err == -EPERM ?
			"the function is freed after init" :
			"its module is being loaded or unloaded");
	return err;
}

static int set_function_filter(struct function_marker *function, const char *symbol,
			       unsigned long *addr)
{
	struct ftrace_ops *ops = &function->ops;
	int err;

	ops->func = call_function_marker;
	/*
	 * Without FTRACE_OPS_FL_PERMANENT, ftrace warns if ftrace_enabled is set to 0 while a
	 * marker is on.
	 */
	ops->flags = COMPAT_FTRACE_FLAGS | FTRACE_OPS_FL_RCU | FTRACE_OPS_FL_PERMANENT;
	err = patcher_add_function_to_filter(ops, symbol, addr);
	if (err == -ENOENT)
		pr_info("function %.64s: cannot attach a marker: no such function\n", symbol);
	if (err == -EPERM)
		pr_info("function %.64s: cannot attach a marker: ftrace cannot trace it\n", symbol);
	return err;
}

static void fill_function_marker(struct function_marker *function)
{
	struct marker *marker = &function->marker;

	marker->name = function->name;
	marker->format = FORMAT;
	marker->nr_args = FORMAT_ARGS;
	marker->func = function->function;
	marker->module = function->module;
	marker->flavour = MARKER_FUNCTION;
	function->record = (long)marker - (long)&function->record;
}

/**
 * marker_ftrace_prepare() - prepare a marker at the entry of a function
 * @function: the marker, with its name
 * @symbol: the function's name
 *
 * Return: 0; or -ENOENT, -EPERM or -ENOMEM, for the same reasons as marker_function_attach().
 */
int marker_ftrace_prepare(struct function_marker *function, const char *symbol)
{
	unsigned long addr, again;
	int err;

	err = set_function_filter(function, symbol, &addr) ?:
	      set_owner_module(function, addr, symbol);
	if (err)
		return err;
	set_function_and_module_name(function, addr);
	fill_function_marker(function);
	if (!strcmp(function->function, symbol))
		return 0;
	/*
	 * The function at @addr has another name than @symbol: either @symbol is an alias, or
	 * another module is at @addr now.  Only an alias is found at @addr again.
	 */
	err = set_function_filter(function, symbol, &again);
	return err ?: again == addr ? 0 : -ENOENT;
}

/*
 * Unregister a function marker from ftrace and free the marker.  If ftrace cannot unregister the
 * marker, return an error and do not free the marker.
 */
int marker_ftrace_free(struct function_marker *function)
{
	int err = marker_ftrace_switch(&function->marker, false);

	if (err) {
		pr_warn("marker %s: cannot be unregistered from ftrace, so kmarkers_markers stays loaded: error %d\n",
			function->name, err);
		return err;
	}
	compat_ftrace_free_filter(&function->ops);
	kfree(function);
	return 0;
}
