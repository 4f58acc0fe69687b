// SPDX-License-Identifier: GPL-2.0-only
/* Calls and functions of the kernel that go to a replacement. */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/ftrace.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/string.h>

#include <kmarkers/redirect.h>

#include "core.h"
#include "sites.h"
#include "text.h"

#define CALL_LEN	5
#define CALL_OPCODE	0xe8

static const char owner[] = "redirect";
static DEFINE_MUTEX(lock);
static LIST_HEAD(redirects);

/* Does the replacement stay for as long as its module, or the kernel, does? */
static bool stays(const void *replacement, struct module *module)
{
	unsigned long addr = (unsigned long)replacement;

	return module ? text_owned(module, addr, 1) : core_is_text(addr);
}

static int encode_call(u8 *insn, unsigned long addr, unsigned long target)
{
	long distance = target - (addr + CALL_LEN);
	s32 displacement = distance;

	if (displacement != distance)
		return -EINVAL;
	insn[0] = CALL_OPCODE;
	memcpy(insn + 1, &displacement, sizeof(displacement));
	return 0;
}

static int exchange(u8 *addr, const u8 *old, const u8 *new)
{
	struct patcher_poke poke = { .addr = addr, .len = CALL_LEN };

	memcpy(poke.old, old, CALL_LEN);
	memcpy(poke.new, new, CALL_LEN);
	return patcher_apply(owner, &poke, 1);
}

/* What the call is while it is redirected. */
static int redirected(const struct patcher_redirect *redirect, u8 *insn)
{
	return encode_call(insn, (unsigned long)redirect->core.addr,
			   (unsigned long)redirect->replacement);
}

static int redirect_call(struct patcher_redirect *redirect)
{
	struct patcher_core_site *core = &redirect->core;
	u8 insn[CALL_LEN];
	int err;

	memset(core, 0, sizeof(*core));
	core->function = redirect->function;
	core->len = CALL_LEN;
	core->owner = owner;
	err = core_find_call(redirect->function, redirect->callee, &core->offset);
	if (err)
		return err;
	err = patcher_core_register(core);
	if (err)
		return err;
	memcpy(redirect->original, core->addr, CALL_LEN);
	err = redirected(redirect, insn);
	if (!err)
		err = exchange(core->addr, redirect->original, insn);
	if (err)
		patcher_core_unregister(core);
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
	u8 insn[CALL_LEN];
	int err;

	if (memcmp(core->addr, redirect->original, CALL_LEN)) {
		err = redirected(redirect, insn) ?:
		      exchange(core->addr, insn, redirect->original);
		if (err)
			return err;
	}
	return core_vet_site(core);
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
	int err = -EINVAL;

	mutex_lock(&lock);
	if (patcher_is_registered(&redirect->core.table))
		err = put_back(redirect);
	if (!err) {
		list_del(&redirect->node);
		patcher_core_unregister(&redirect->core);
	}
	mutex_unlock(&lock);
	if (err)
		return err;
	synchronize_rcu_tasks();
	module_put(redirect->module);
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
	return detour->ops.flags & FTRACE_OPS_FL_ENABLED;
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
	unsigned long addr;
	int err;

	if (!detour->function || !stays(detour->replacement, detour->module))
		return -EINVAL;
	if (in_use(detour))
		return -EBUSY;
	addr = core_resolve(detour->function);
	if (!core_is_text(addr))
		return -ENOENT;
	if (core_handles_breakpoints(detour->function, addr))
		return -EPERM;
	if (!try_module_get(detour->module))
		return -ENOENT;
	memset(&detour->ops, 0, sizeof(detour->ops));
	detour->ops.func = take_detour;
	/* PERMANENT: else ftrace can be disabled by sysctl, and the detour with it. */
	detour->ops.flags = FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_IPMODIFY |
			    FTRACE_OPS_FL_PERMANENT;
	err = ftrace_set_filter_ip(&detour->ops, addr, 0, 0);
	if (err) {
		module_put(detour->module);
		return err == -ENOMEM ? err : -ENOENT;
	}
	err = register_ftrace_function(&detour->ops);
	if (err) {
		compat_ftrace_free_filter(&detour->ops);
		module_put(detour->module);
	}
	return err;
}
EXPORT_SYMBOL_GPL(patcher_redirect_function);

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
	int err;

	if (!in_use(detour))
		return -EINVAL;
	err = unregister_ftrace_function(&detour->ops);
	if (err)
		return err;
	compat_ftrace_free_filter(&detour->ops);
	synchronize_rcu_tasks();
	module_put(detour->module);
	return 0;
}
EXPORT_SYMBOL_GPL(patcher_restore_function);
