// SPDX-License-Identifier: GPL-2.0-only
/* Calls and functions of the kernel that go to a replacement. */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/ftrace.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pgtable.h>
#include <linux/rcupdate.h>
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

/* Does the replacement stay for as long as its module, or the kernel, does? */
static bool stays(const void *replacement, struct module *module)
{
	unsigned long addr = (unsigned long)replacement;

	return module ? patcher_text_owned(module, addr, 1) : patcher_is_core_text(addr);
}

/*
 * What the call is while it is redirected.  Whatever stays() lies between the
 * start of the kernel's text and the end of where modules go: a call reaches all
 * of it from anywhere in it.
 */
static void encode_call(u8 *insn, const struct patcher_redirect *redirect)
{
	s32 displacement = (unsigned long)redirect->replacement -
			   ((unsigned long)redirect->core.addr + KMARKERS_CALL_LEN);

	BUILD_BUG_ON(MODULES_END - __START_KERNEL_map > S32_MAX);
	insn[0] = KMARKERS_CALL;
	memcpy(insn + 1, &displacement, sizeof(displacement));
}

static int exchange(u8 *addr, const u8 *old, const u8 *new)
{
	struct patcher_poke poke = { .addr = addr, .len = KMARKERS_CALL_LEN };

	memcpy(poke.old, old, KMARKERS_CALL_LEN);
	memcpy(poke.new, new, KMARKERS_CALL_LEN);
	return patcher_apply(owner, &poke, 1);
}

static int redirect_call(struct patcher_redirect *redirect)
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
	encode_call(insn, redirect);
	err = exchange(core->addr, core->original, insn);
	/* Nothing was written: whatever is there now need not be ours to put back. */
	if (err)
		patcher_unregister(&core->table);
	return err;
}

/* Another one of the same call hides it: what would be found is the call after it. */
static bool is_taken(const struct patcher_redirect *redirect)
{
	const struct patcher_redirect *other;

	list_for_each_entry(other, &redirects, node)
		if (other == redirect || (!strcmp(other->function, redirect->function) &&
					  !strcmp(other->callee, redirect->callee)))
			return true;
	return false;
}

static int redirect_once(struct patcher_redirect *redirect)
{
	int err = -EBUSY;

	mutex_lock(&lock);
	if (!is_taken(redirect))
		err = redirect_call(redirect);
	if (!err)
		list_add(&redirect->node, &redirects);
	mutex_unlock(&lock);
	return err;
}

/**
 * patcher_redirect_call() - let a call inside a kernel function go elsewhere
 * @redirect: function, callee and replacement filled in; must stay until
 *	patcher_restore_call()
 *
 * Context: may sleep.
 * Return: 0; -ENOENT if there is no such function or no such call in it; -EINVAL
 * if the replacement is no text that stays with its module; -EBUSY if the call is redirected
 * already; or what patcher_core_register() and patcher_apply() return.
 */
int patcher_redirect_call(struct patcher_redirect *redirect)
{
	int err;

	if (!redirect->function || !redirect->callee ||
	    !stays(redirect->replacement, redirect->module))
		return -EINVAL;
	if (!try_module_get(redirect->module))
		return -ENOENT;
	err = redirect_once(redirect);
	if (err)
		module_put(redirect->module);
	return err;
}
EXPORT_SYMBOL_GPL(patcher_redirect_call);

/*
 * While a change is made no kprobe can come, because kprobe_mutex is held: one
 * that is on the call already makes exchange() refuse.  One that came while the
 * call was redirected works on a copy of that, whatever the bytes are now: the
 * site is vetted once more before the replacement may go.  A try that was
 * refused there has left the original bytes.
 */
static int put_back(struct patcher_redirect *redirect)
{
	struct patcher_core_site *core = &redirect->core;
	u8 insn[KMARKERS_CALL_LEN];
	int err;

	if (memcmp(core->addr, core->original, KMARKERS_CALL_LEN)) {
		encode_call(insn, redirect);
		err = exchange(core->addr, insn, core->original);
		if (err)
			return err;
	}
	return patcher_core_vet(core);
}

/**
 * patcher_restore_call() - put a redirected call back
 * @redirect: as redirected
 *
 * On return every byte is as it was found, and no task is in the replacement.
 *
 * Context: may sleep; waits for a tasks-RCU grace period.
 * Return: 0; -EINVAL if @redirect is not in use; -EBUSY, -EILSEQ and so on as
 * patcher_apply(), with the replacement still in use: try again.
 */
int patcher_restore_call(struct patcher_redirect *redirect)
{
	struct module *module;
	int err = -EINVAL;

	mutex_lock(&lock);
	/* Once we let go, @redirect may be in use again. */
	module = redirect->module;
	if (patcher_is_registered(&redirect->core.table))
		err = put_back(redirect);
	if (!err) {
		list_del(&redirect->node);
		patcher_unregister(&redirect->core.table);
	}
	mutex_unlock(&lock);
	if (err)
		return err;
	synchronize_rcu_tasks();
	module_put(module);
	return 0;
}
EXPORT_SYMBOL_GPL(patcher_restore_call);

/* Instead of going on in the function, go to the replacement. */
static void notrace take_detour(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *ops,
				struct compat_ftrace_regs *regs)
{
	struct patcher_detour *detour = container_of(ops, struct patcher_detour, ops);

	compat_ftrace_set_ip(regs, (unsigned long)detour->replacement);
}

static bool in_use(const struct patcher_detour *detour)
{
	lockdep_assert_held(&lock);
	return detour->ops.flags & FTRACE_OPS_FL_ENABLED;
}

static unsigned long resolve(const char *function)
{
	unsigned long addr;

	patcher_lock();
	addr = kmarkers_resolve(function);
	patcher_unlock();
	return addr;
}

static int take_function(struct patcher_detour *detour)
{
	unsigned long addr = resolve(detour->function);
	int err;

	if (!patcher_is_core_text(addr))
		return -ENOENT;
	if (patcher_handles_breakpoints(detour->function, addr))
		return -EPERM;
	memset(&detour->ops, 0, sizeof(detour->ops));
	detour->ops.func = take_detour;
	/* PERMANENT: else ftrace can be disabled by sysctl, and the detour with it. */
	detour->ops.flags = FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_IPMODIFY |
			    FTRACE_OPS_FL_PERMANENT;
	err = patcher_trace_at(&detour->ops, addr);
	if (err)
		return err == -ENOMEM ? err : -ENOENT;
	err = register_ftrace_function(&detour->ops);
	if (err)
		compat_ftrace_free_filter(&detour->ops);
	return err;
}

/**
 * patcher_redirect_function() - let a whole function go elsewhere
 * @detour: function and replacement filled in; must stay until
 *	patcher_restore_function()
 *
 * A function's entry belongs to ftrace, which does this through its own
 * interface, as for live patches.
 *
 * Context: may sleep.
 * Return: 0; -EINVAL as patcher_redirect_call(); -ENOENT if there is no such
 * traceable function in the kernel itself (that of a module might go, and ftrace does
 * not forget it then); -EPERM if breakpoints are handled in it; -EBUSY if someone else redirects it, @detour is in use or
 * kernel.ftrace_enabled is 0; -ENOMEM; or what else ftrace returns.
 */
int patcher_redirect_function(struct patcher_detour *detour)
{
	struct module *module = detour->module;
	int err;

	if (!detour->function || !stays(detour->replacement, module))
		return -EINVAL;
	if (!try_module_get(module))
		return -ENOENT;
	mutex_lock(&lock);
	err = in_use(detour) ? -EBUSY : take_function(detour);
	mutex_unlock(&lock);
	if (err)
		module_put(module);
	return err;
}
EXPORT_SYMBOL_GPL(patcher_redirect_function);

static int give_back(struct patcher_detour *detour)
{
	int err;

	if (!in_use(detour))
		return -EINVAL;
	err = unregister_ftrace_function(&detour->ops);
	if (!err)
		compat_ftrace_free_filter(&detour->ops);
	return err;
}

/**
 * patcher_restore_function() - put a redirected function back
 * @detour: as redirected
 *
 * On return no task is in the replacement.
 *
 * Context: may sleep; waits for a tasks-RCU grace period.
 * Return: 0; -EINVAL if @detour is not in use; or what ftrace returns.
 */
int patcher_restore_function(struct patcher_detour *detour)
{
	struct module *module;
	int err;

	mutex_lock(&lock);
	/* Once we let go, @detour may be in use again. */
	module = detour->module;
	err = give_back(detour);
	mutex_unlock(&lock);
	if (err)
		return err;
	synchronize_rcu_tasks();
	module_put(module);
	return 0;
}
EXPORT_SYMBOL_GPL(patcher_restore_function);

/**
 * patcher_trace_function() - let ftrace operations see a function
 * @ops: not registered; its filter is added to
 * @function: the function's name, in the kernel or in a module
 * @addr: set to where it is; on IBT builds it may be 4 past the start
 *
 * Says nothing of what ftrace cannot trace, so not of data either.
 *
 * Context: may sleep.
 * Return: 0; -ENOENT if there is no such symbol; -EPERM if ftrace cannot trace it;
 * -ENOMEM.
 */
int patcher_trace_function(struct ftrace_ops *ops, const char *function, unsigned long *addr)
{
	unsigned long at = resolve(function);
	int err;

	if (!at)
		return -ENOENT;
	err = patcher_trace_at(ops, at);
	if (!err)
		*addr = at;
	return err;
}
EXPORT_SYMBOL_GPL(patcher_trace_function);
