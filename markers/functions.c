// SPDX-License-Identifier: GPL-2.0-only
/*
 * Markers on functions that nobody marked: their entry belongs to ftrace, which
 * calls us while the marker is on and knows nothing of us while it is off.
 *
 * ftrace keeps a function from being entered again from within its own handling
 * in the same context, so probes may call functions that have a marker.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/ftrace.h>
#include <linux/kallsyms.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pgtable.h>
#include <linux/printk.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <kmarkers/redirect.h>
#include <kmarkers/words.h>

#include "control.h"
#include "functions.h"
#include "internal.h"
#include "registry.h"

#define FORMAT		"caller %pS args %lx %lx %lx %lx %lx %lx"
#define FORMAT_ARGS	7
#define NAME_BYTES	128

/**
 * struct function_marker - a marker at the entry of a function
 * @node: in the list of all
 * @marker: what the registry knows
 * @record: a table with the marker as its only record
 * @ops: registered while the marker is on
 * @name: the marker's name
 * @function: as kallsyms calls it
 * @module: whose function it is; "kernel" if no module's
 */
struct function_marker {
	struct list_head node;
	struct marker marker;
	s32 record;
	struct ftrace_ops ops;
	char name[NAME_BYTES];
	char function[KSYM_NAME_LEN];
	char module[MODULE_NAME_LEN];
};

static DEFINE_MUTEX(lock);		/* before those of control.c */
static LIST_HEAD(functions);

static void notrace on_function(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *ops,
				struct compat_ftrace_regs *regs)
{
	struct function_marker *function = container_of(ops, struct function_marker, ops);

	marker_probe_call(&function->marker, NULL, FORMAT, (void *)parent_ip,
			  compat_ftrace_argument(regs, 0), compat_ftrace_argument(regs, 1),
			  compat_ftrace_argument(regs, 2), compat_ftrace_argument(regs, 3),
			  compat_ftrace_argument(regs, 4), compat_ftrace_argument(regs, 5));
}

/* Called by the registry, for markers of flavour MARKER_FUNCTION. */
int function_switch(struct marker *marker, bool on)
{
	struct function_marker *function = container_of(marker, struct function_marker, marker);

	if (!!(function->ops.flags & FTRACE_OPS_FL_ENABLED) == on)
		return 0;
	return on ? register_ftrace_function(&function->ops) :
		    unregister_ftrace_function(&function->ops);
}

/* From "function+offset/size [module]". */
static void read_symbol(struct function_marker *function, unsigned long addr)
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
	/* Behind the name may be more: a build ID. */
	*strchrnul(module, ' ') = '\0';
	strscpy(function->module, module + 1, sizeof(function->module));
}

/*
 * The kernel's own search is not exported.  The list's head is the only member
 * that is no module: it is the kernel's, thus below where modules are.
 */
static const struct module *module_at(unsigned long addr)
{
	const struct module *module = THIS_MODULE;

	do {
		if ((unsigned long)module >= MODULES_VADDR && within_module(addr, module))
			return module;
		module = list_entry_rcu(module->list.next, struct module, list);
	} while (module != THIS_MODULE);
	return NULL;
}

/*
 * A module that is LIVE under our lock is still to go through
 * functions_drop_module(), and its functions stay until it did.
 */
static int check_module(unsigned long addr, const char *symbol)
{
	const struct module *module;
	int err = 0;

	if (addr < MODULES_VADDR)
		return 0;
	rcu_read_lock();
	module = module_at(addr);
	if (module && within_module_init(addr, module))
		err = -EPERM;
	else if (!module || READ_ONCE(module->state) != MODULE_STATE_LIVE)
		err = -ENOENT;
	rcu_read_unlock();
	if (err)
		pr_info("%.64s: %s\n", symbol, err == -EPERM ?
			"is freed after init" : "its module is coming or leaving");
	return err;
}

static int set_filter(struct function_marker *function, const char *symbol, unsigned long *addr)
{
	struct ftrace_ops *ops = &function->ops;
	int err;

	ops->func = on_function;
	/* PERMANENT: ftrace warns if it is disabled by sysctl while we are on. */
	ops->flags = COMPAT_FTRACE_FLAGS | FTRACE_OPS_FL_RCU | FTRACE_OPS_FL_PERMANENT;
	err = patcher_trace_function(ops, symbol, addr);
	if (err == -ENOENT)
		pr_info("no function %.64s\n", symbol);
	if (err == -EPERM)
		pr_info("%.64s cannot be traced\n", symbol);
	return err;
}

static void fill_marker(struct function_marker *function)
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

static int prepare(struct function_marker *function, const char *symbol)
{
	unsigned long addr, again;
	int err;

	err = set_filter(function, symbol, &addr) ?: check_module(addr, symbol);
	if (err)
		return err;
	read_symbol(function, addr);
	fill_marker(function);
	if (!strcmp(function->function, symbol))
		return 0;
	/* An alias, or another module is there by now. */
	err = set_filter(function, symbol, &again);
	return err ?: again == addr ? 0 : -ENOENT;
}

static int is_there(void *data, const struct marker *marker)
{
	return -EEXIST;
}

/*
 * On return ftrace does not call us any more; if it refuses to stop, what it
 * calls us with must stay.
 */
static int forget(struct function_marker *function)
{
	int err = function_switch(&function->marker, false);

	if (err) {
		pr_warn("%s: ftrace does not let go: error %d\n", function->name, err);
		return err;
	}
	compat_ftrace_free_filter(&function->ops);
	kfree(function);
	return 0;
}

static int detach(struct function_marker *function)
{
	list_del(&function->node);
	markers_drop_records(&function->record);
	control_names_go();
	return forget(function);
}

static int add_table(struct function_marker *function)
{
	struct kmarkers_span span = {
		.first = &function->record, .end = &function->record + 1,
		.bytes = sizeof(function->record),
	};

	return markers_add_table(NULL, &span);
}

static int attach(const char *symbol, const char *name)
{
	struct function_marker *function;
	int err;

	err = markers_for_each(name, NULL, is_there, NULL);
	if (err) {
		pr_info("there is a marker %s\n", name);
		return err;
	}
	function = kzalloc(sizeof(*function), GFP_KERNEL);
	if (!function)
		return -ENOMEM;
	strscpy(function->name, name, sizeof(function->name));
	err = prepare(function, symbol) ?: add_table(function);
	if (err) {
		forget(function);
		return err;
	}
	list_add_tail(&function->node, &functions);
	err = control_names_come(NULL);
	if (err)
		detach(function);
	return err;
}

/**
 * function_attach() - put a marker on a function
 * @symbol: the function's name
 * @name: the marker's name, an identifier; not yet that of a marker
 *
 * Context: may sleep.
 * Return: 0; -EINVAL for a malformed name; -ENOENT if there is no such symbol, or
 * if its module has not come yet or is leaving; -EPERM if ftrace cannot trace it or
 * it is a module's init text; -EEXIST if a marker has that name; -ENOMEM; or what
 * ftrace returns, if probes wait for the name.
 */
int function_attach(const char *symbol, const char *name)
{
	int err;

	if (!patcher_is_identifier(name) || strlen(name) >= NAME_BYTES ||
	    strlen(symbol) >= KSYM_NAME_LEN)
		return -EINVAL;
	mutex_lock(&lock);
	err = attach(symbol, name);
	mutex_unlock(&lock);
	return err;
}

/**
 * function_detach() - take a marker off its function
 * @name: the marker's name
 *
 * Context: may sleep; waits for functions that are being traced.
 * Return: 0; -ENOENT if no function has that marker; or what ftrace returns.
 */
int function_detach(const char *name)
{
	struct function_marker *function;
	int err = -ENOENT;

	mutex_lock(&lock);
	list_for_each_entry(function, &functions, node) {
		if (strcmp(function->name, name))
			continue;
		err = detach(function);
		break;
	}
	mutex_unlock(&lock);
	return err;
}

/**
 * functions_drop_module() - detach markers from functions of a module
 * @module: the module, before ftrace forgets its functions; NULL: from all functions
 *
 * Context: may sleep.
 */
void functions_drop_module(const struct module *module)
{
	struct function_marker *function, *next;

	mutex_lock(&lock);
	list_for_each_entry_safe(function, next, &functions, node) {
		if (module && strcmp(function->module, module->name))
			continue;
		if (module)
			pr_info("%s: detached, %s leaves\n", function->name, module->name);
		detach(function);
	}
	mutex_unlock(&lock);
}
