// SPDX-License-Identifier: GPL-2.0-only
/* Redirect calls and functions of the kernel to a replacement. */
#include <linux/cpu.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/ftrace.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pgtable.h>
#include <linux/string.h>

#include <kmarkers/opcodes.h>
#include <kmarkers/redirect.h>

#include "../base/lock.h"
#include "../base/symbols.h"
#include "core.h"
#include "core_text.h"
#include "functions.h"
#include "register.h"
#include "text.h"

static const char owner[] = "redirect";
static DEFINE_MUTEX(lock);
static LIST_HEAD(redirects);

/**
 * patcher_wait_for_tasks() - wait until no task is inside code that is no longer called
 *
 * The code must not sleep.  See patcher_text_wait_for_tasks().
 *
 * Context: may sleep.
 */
void patcher_wait_for_tasks(void)
{
	cpus_read_lock();
	patcher_text_wait_for_tasks();
	cpus_read_unlock();
}
EXPORT_SYMBOL_GPL(patcher_wait_for_tasks);

/*
 * Return true if a replacement is in text that is not freed after init.  The text must belong to
 * @module, or to the kernel itself if @module is NULL.
 */
static bool is_in_permanent_text(const void *replacement, struct module *module)
{
	unsigned long addr = (unsigned long)replacement;

	return module ? patcher_is_module_text(module, addr, 1) : patcher_is_core_text(addr);
}

/*
 * Encode the call to the replacement.  A replacement for which is_in_permanent_text() is true lies
 * between the start of the kernel's text and MODULES_END.  The displacement of 32 bits spans
 * that range.
 */
static void encode_call_to_replacement(u8 *insn, const struct patcher_redirect *redirect)
{
	s32 displacement = (unsigned long)redirect->replacement -
			   ((unsigned long)redirect->core.addr + KMARKERS_CALL_LEN);

	BUILD_BUG_ON(MODULES_END - __START_KERNEL_map > S32_MAX);
	insn[0] = KMARKERS_CALL;
	memcpy(insn + 1, &displacement, sizeof(displacement));
}

static int replace_call_insn(u8 *addr, const u8 *old, const u8 *new)
{
	struct patcher_poke poke = { .addr = addr, .len = KMARKERS_CALL_LEN };

	memcpy(poke.old, old, KMARKERS_CALL_LEN);
	memcpy(poke.new, new, KMARKERS_CALL_LEN);
	return patcher_apply(owner, &poke, 1);
}

static int find_and_redirect_call(struct patcher_redirect *redirect)
{
	struct patcher_core_site *core = &redirect->core;
	u8 insn[KMARKERS_CALL_LEN];
	int err;

	memset(core, 0, sizeof(*core));
	core->function = redirect->function;
	core->len = KMARKERS_CALL_LEN;
	core->owner = owner;
	err = patcher_find_call(redirect->function, redirect->callee, &core->offset);
	if (err)
		return err;
	err = patcher_core_register(core);
	if (err)
		return err;
	encode_call_to_replacement(insn, redirect);
	err = replace_call_insn(core->addr, core->original, insn);
	/* After an error no byte was written: unregister the site without restoring its bytes. */
	if (err)
		patcher_unregister(&core->table);
	return err;
}

/*
 * Return true if @redirect is in use, or if another redirect has the same function and callee.  A
 * second redirect of this kind would redirect the wrong call: patcher_find_call() skips the call
 * that now calls the replacement, and finds the next call to the callee.
 */
static bool is_call_redirected(const struct patcher_redirect *redirect)
{
	const struct patcher_redirect *other;

	list_for_each_entry(other, &redirects, node)
		if (other == redirect || (!strcmp(other->function, redirect->function) &&
					  !strcmp(other->callee, redirect->callee)))
			return true;
	return false;
}

static int redirect_call_unless_redirected(struct patcher_redirect *redirect)
{
	int err = -EBUSY;

	mutex_lock(&lock);
	if (!is_call_redirected(redirect))
		err = find_and_redirect_call(redirect);
	if (!err)
		list_add(&redirect->node, &redirects);
	mutex_unlock(&lock);
	return err;
}

/**
 * patcher_redirect_call() - redirect a call inside a kernel function
 * @redirect: the call, with function, callee and replacement filled in; must stay valid until
 *	patcher_restore_call()
 *
 * Context: may sleep.
 * Return: 0; -ENOENT if there is no such function, or if it contains no call to the callee; -EINVAL
 * if the replacement is not in text that stays in memory until its module is unloaded; -EBUSY if
 * the call is redirected already; or an error of patcher_core_register() or patcher_apply().
 */
int patcher_redirect_call(struct patcher_redirect *redirect)
{
	int err;

	if (!redirect->function || !redirect->callee ||
	    !is_in_permanent_text(redirect->replacement, redirect->module))
		return -EINVAL;
	if (!try_module_get(redirect->module))
		return -ENOENT;
	err = redirect_call_unless_redirected(redirect);
	if (err)
		module_put(redirect->module);
	return err;
}
EXPORT_SYMBOL_GPL(patcher_redirect_call);

/*
 * Restore the original call.  replace_call_insn() fails if a kprobe is on the call, and holds
 * kprobe_mutex while it changes the bytes, so that no kprobe can be registered meanwhile.  A kprobe
 * that was registered on the redirected call executes a copy of this call, even after the original
 * bytes are restored.  So patcher_check_core_site() checks the site before the caller may free the
 * replacement.
 */
static int restore_original_call(struct patcher_redirect *redirect)
{
	struct patcher_core_site *core = &redirect->core;
	u8 insn[KMARKERS_CALL_LEN];
	int err;

	if (memcmp(core->addr, core->original, KMARKERS_CALL_LEN)) {
		encode_call_to_replacement(insn, redirect);
		err = replace_call_insn(core->addr, insn, core->original);
		if (err)
			return err;
	}
	return patcher_check_core_site(core);
}

/**
 * patcher_restore_call() - restore a redirected call
 * @redirect: as passed to patcher_redirect_call()
 *
 * After this function has returned 0, the call has its original bytes and no task is in the
 * replacement.
 *
 * Context: may sleep; waits for a tasks-RCU grace period and for the idle task of each CPU.
 * Return: 0; -EINVAL if @redirect is not in use; or an error of patcher_apply() or of
 * patcher_check_core_write(), such as -EBUSY.  After an error the replacement may still be called,
 * and the caller should call this function again later.
 */
int patcher_restore_call(struct patcher_redirect *redirect)
{
	struct module *module;
	int err = -EINVAL;

	mutex_lock(&lock);
	/*
	 * Read the module before the lock is released, because other callers can reuse @redirect
	 * afterwards.
	 */
	module = redirect->module;
	if (patcher_is_table_registered(&redirect->core.table))
		err = restore_original_call(redirect);
	if (!err) {
		list_del(&redirect->node);
		patcher_unregister(&redirect->core.table);
	}
	mutex_unlock(&lock);
	if (err)
		return err;
	patcher_wait_for_tasks();
	module_put(module);
	return 0;
}
EXPORT_SYMBOL_GPL(patcher_restore_call);

/*
 * The ftrace callback at the entry of a redirected function: let execution continue in the
 * replacement.
 */
static void notrace enter_replacement(unsigned long ip, unsigned long parent_ip,
				      struct ftrace_ops *ops, struct compat_ftrace_regs *regs)
{
	struct patcher_detour *detour = container_of(ops, struct patcher_detour, ops);

	compat_ftrace_set_ip(regs, (unsigned long)detour->replacement);
}

static bool is_detour_in_use(const struct patcher_detour *detour)
{
	lockdep_assert_held(&lock);
	return detour->ops.flags & FTRACE_OPS_FL_ENABLED;
}

static unsigned long resolve_kernel_symbol(const char *function)
{
	unsigned long addr;

	patcher_lock();
	addr = kmarkers_resolve_symbol(function);
	patcher_unlock();
	return addr;
}

static int register_detour(struct patcher_detour *detour)
{
	unsigned long addr = resolve_kernel_symbol(detour->function);
	int err;

	if (!patcher_is_core_text(addr))
		return -ENOENT;
	if (patcher_may_run_in_int3(detour->function, addr))
		return -EPERM;
	memset(&detour->ops, 0, sizeof(detour->ops));
	detour->ops.func = enter_replacement;
	/* Without FTRACE_OPS_FL_PERMANENT, sysctl kernel.ftrace_enabled=0 disables the detour. */
	detour->ops.flags = FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_IPMODIFY |
			    FTRACE_OPS_FL_PERMANENT;
	err = patcher_add_to_ftrace_filter(&detour->ops, addr);
	if (err)
		return err == -ENOMEM ? err : -ENOENT;
	err = register_ftrace_function(&detour->ops);
	if (err)
		compat_ftrace_free_filter(&detour->ops);
	return err;
}

/**
 * patcher_redirect_function() - redirect a whole kernel function
 * @detour: the detour, with function and replacement filled in; must stay valid until
 *	patcher_restore_function()
 *
 * A function's entry belongs to ftrace, so an ftrace callback changes the instruction
 * pointer there, as for live patches.  Functions of modules are refused: the address of a function
 * would stay in the ftrace filter after its module is freed.
 *
 * Context: may sleep.
 * Return: 0; -EINVAL as for patcher_redirect_call(); -ENOENT if the kernel itself has no function
 * of that name, or ftrace cannot trace the function; -EPERM if the function may run while a
 * breakpoint is handled; -EBUSY if other code redirects the function, @detour is in use or
 * kernel.ftrace_enabled is 0; -ENOMEM; or another error of ftrace.
 */
int patcher_redirect_function(struct patcher_detour *detour)
{
	struct module *module = detour->module;
	int err;

	if (!detour->function || !is_in_permanent_text(detour->replacement, module))
		return -EINVAL;
	if (!try_module_get(module))
		return -ENOENT;
	mutex_lock(&lock);
	err = is_detour_in_use(detour) ? -EBUSY : register_detour(detour);
	mutex_unlock(&lock);
	if (err)
		module_put(module);
	return err;
}
EXPORT_SYMBOL_GPL(patcher_redirect_function);

static int unregister_detour(struct patcher_detour *detour)
{
	int err;

	if (!is_detour_in_use(detour))
		return -EINVAL;
	err = unregister_ftrace_function(&detour->ops);
	if (!err)
		compat_ftrace_free_filter(&detour->ops);
	return err;
}

/**
 * patcher_restore_function() - restore a redirected function
 * @detour: as passed to patcher_redirect_function()
 *
 * After this function has returned 0, no task is in the replacement.
 *
 * Context: may sleep; waits for a tasks-RCU grace period and for the idle task of each CPU.
 * Return: 0; -EINVAL if @detour is not in use; or an error of ftrace.
 */
int patcher_restore_function(struct patcher_detour *detour)
{
	struct module *module;
	int err;

	mutex_lock(&lock);
	/*
	 * Read the module before the lock is released, because other callers can reuse @detour
	 * afterwards.
	 */
	module = detour->module;
	err = unregister_detour(detour);
	mutex_unlock(&lock);
	if (err)
		return err;
	patcher_wait_for_tasks();
	module_put(module);
	return 0;
}
EXPORT_SYMBOL_GPL(patcher_restore_function);

/**
 * patcher_add_function_to_filter() - add a function to the filter of ftrace operations
 * @ops: the operations, not registered
 * @function: the function's name, in the kernel or in a module
 * @addr: set to the function's address; on IBT builds it may be 4 bytes past the start
 *
 * If ftrace cannot trace the symbol, for instance because it is data, @addr is not set.
 *
 * Context: may sleep.
 * Return: 0; -ENOENT if there is no such symbol; -EPERM if ftrace cannot trace the symbol; -ENOMEM.
 */
int patcher_add_function_to_filter(struct ftrace_ops *ops, const char *function,
				   unsigned long *addr)
{
	unsigned long at = resolve_kernel_symbol(function);
	int err;

	if (!at)
		return -ENOENT;
	err = patcher_add_to_ftrace_filter(ops, at);
	if (!err)
		*addr = at;
	return err;
}
EXPORT_SYMBOL_GPL(patcher_add_function_to_filter);

/**
 * patcher_find_symbol() - find the address of a symbol that the kernel does not export
 * @symbol: the symbol's name, of data or of a function
 *
 * Context: may sleep.
 * Return: the symbol's address, which on IBT builds is 4 bytes past the start of a function; 0 if
 * there is no such symbol.
 */
unsigned long patcher_find_symbol(const char *symbol)
{
	return resolve_kernel_symbol(symbol);
}
EXPORT_SYMBOL_GPL(patcher_find_symbol);
