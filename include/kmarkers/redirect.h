/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Changes of core text, the text of the kernel itself.
 *
 * OVERVIEW
 *
 * Core text is changed only if all of these conditions hold:
 *
 * - the caller gives the name of the function;
 * - ftrace can trace the function and kprobes can probe it, so the function is neither entry code
 *   nor noinstr;
 * - the kernel does not call the function between a breakpoint and patcher_handle_int3();
 * - the bytes are not used by ftrace, a jump label or a static call;
 * - the bytes are not used by a kprobe, whether armed, disabled or about to be optimised.
 *
 * The kernel's own functions check these conditions before each change.  The patcher compares the
 * bytes once more under the kernel's text_mutex.
 *
 * Other code may register a kprobe on a site after the site was changed.  The kprobe executes
 * a copy of the changed instruction, and writes the copy back when the kprobe is disarmed: this is
 * harmless until the next change of the site.  The next change is refused with -EBUSY until the
 * kprobe is unregistered, and afterwards with -EILSEQ if the kprobe left other bytes.
 *
 * If several functions have the same name, the patcher changes the function that a kprobe by this
 * name would probe, which may be another function than the intended one.
 *
 * A kernel with call depth tracking (retbleed=stuff) does not count a redirected call, so the
 * counter of calls is one too low when the replacement returns.  The kernel then refills the return
 * stack buffer once too early, which costs time but is safe.
 *
 * EXAMPLE
 *
 *	static pid_t my_tgid(struct task_struct *task, enum pid_type type,
 *			     struct pid_namespace *ns) { ... }
 *
 *	static struct patcher_redirect redirect = {
 *		.function = "__do_sys_getppid",
 *		.callee = "__task_pid_nr_ns",
 *		.replacement = my_tgid,
 *		.module = THIS_MODULE,
 *	};
 *
 *	err = patcher_redirect_call(&redirect);
 *	...
 *	err = patcher_restore_call(&redirect);
 *
 * CONTEXT: all functions may sleep, and must not be called from atomic context.
 *
 * All functions return the errors of <kmarkers/patcher.h>.  If a site was refused, the log gives
 * the reason.
 */
#ifndef KMARKERS_REDIRECT_H
#define KMARKERS_REDIRECT_H

#include <linux/ftrace.h>
#include <linux/list.h>
#include <linux/types.h>
#include <kmarkers/patcher.h>

/**
 * struct patcher_core_site - an instruction in a function of the kernel
 *
 * The owner puts the original bytes back before it calls patcher_core_unregister(), and checks the
 * return value: patcher_core_unregister() refuses a site that holds other bytes.
 *
 * @function: the function's name
 * @offset: offset of the instruction in the function, in bytes
 * @len: length of the instruction in bytes
 * @owner: as in struct patcher_table
 * @addr: address of the instruction; set on registration
 * @original: private
 * @site: private
 * @table: private
 */
struct patcher_core_site {
	const char *function;
	unsigned long offset;
	u8 len;
	const char *owner;
	u8 *addr;
	u8 original[PATCHER_INSN_MAX];
	struct patcher_site site;
	struct patcher_table table;
};

int patcher_core_register(struct patcher_core_site *core);
int __must_check patcher_core_unregister(struct patcher_core_site *core);

/**
 * struct patcher_redirect - a direct call that is redirected
 * @function: the function that contains the call
 * @callee: the function that is called; the first call to @callee in @function is redirected
 * @replacement: the function to call instead, with the same arguments and result type; must not
 *	sleep, so that a tasks-RCU grace period waits for the replacement to return
 * @module: the module that contains the replacement, or NULL for the kernel; the module cannot
 *	be unloaded while the call is redirected
 * @core: private
 * @node: private
 */
struct patcher_redirect {
	const char *function;
	const char *callee;
	void *replacement;
	struct module *module;
	struct patcher_core_site core;
	struct list_head node;
};

int patcher_redirect_call(struct patcher_redirect *redirect);
int patcher_restore_call(struct patcher_redirect *redirect);

/**
 * struct patcher_detour - a whole function that is redirected, through ftrace
 * @function: the function's name
 * @replacement: the function that runs instead; see @replacement of struct patcher_redirect
 * @module: the module that contains the replacement, or NULL for the kernel; the module cannot
 *	be unloaded while the function is redirected
 * @ops: private; zero before the first use
 */
struct patcher_detour {
	const char *function;
	void *replacement;
	struct module *module;
	struct ftrace_ops ops;
};

void patcher_wait_for_tasks(void);

int patcher_redirect_function(struct patcher_detour *detour);
int patcher_restore_function(struct patcher_detour *detour);

int patcher_add_function_to_filter(struct ftrace_ops *ops, const char *function,
				   unsigned long *addr);
unsigned long patcher_find_symbol(const char *symbol);

#endif /* KMARKERS_REDIRECT_H */
