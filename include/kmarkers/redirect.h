/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Changes in the text of the kernel itself.
 *
 * OVERVIEW
 *
 * Core text is denied unless all of this holds: the caller names the function;
 * it is one that ftrace can trace and kprobes can probe, so neither entry code
 * nor noinstr; nothing of it runs between a breakpoint and our handler; and
 * nobody else has a claim to the bytes: not ftrace, a jump label, a static call
 * or a kprobe, be it armed, disabled or about to be optimised.  The kernel's own
 * code answers these questions, anew for each change; the bytes are compared
 * once more under the kernel's text_mutex.
 *
 * What cannot be kept out is a kprobe that is registered on a changed site
 * later.  It works on a copy of the instruction that it found, and disarming it
 * writes that back: harmless while the change stays.  The next change there is
 * refused with -EBUSY until it is gone, and with -EILSEQ if it left other bytes.
 *
 * Of several functions of one name the kernel gives us the same one as kprobes,
 * which need not be the one that is meant.
 *
 * A kernel that counts the depth of its calls (retbleed=stuff) does not count one
 * that is redirected: its counter stands one too low when the replacement returns,
 * so the return stack is refilled once too early, which costs time and no safety.
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
 * CONTEXT: everything here may sleep, and must not be called from atomic context.
 *
 * Errors are those of <kmarkers/patcher.h>; the log names who owns a site that
 * was refused.
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
 * Who changes it puts it back before patcher_core_unregister(), which refuses to
 * forget a site whose bytes are not those that were found: check what it returns.
 *
 * @function: the function's name
 * @offset: the instruction's offset in it
 * @len: its bytes
 * @owner: as in struct patcher_table
 * @addr: its address; set on registration
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
 * struct patcher_redirect - a direct call that goes elsewhere
 * @function: the function that the call is in
 * @callee: the function that it calls; the first call to it is taken
 * @replacement: what it shall call: same arguments, same result; it must not
 *	sleep, so that it can be waited for
 * @module: the module that holds the replacement, NULL if the kernel does; cannot be
 *	unloaded meanwhile
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
 * struct patcher_detour - a whole function that goes elsewhere, through ftrace
 * @function: the function's name
 * @replacement: what runs in its place; the same rules
 * @module: the module that holds it, NULL if the kernel does; cannot be unloaded
 *	meanwhile
 * @ops: private; zero before the first use
 */
struct patcher_detour {
	const char *function;
	void *replacement;
	struct module *module;
	struct ftrace_ops ops;
};

int patcher_redirect_function(struct patcher_detour *detour);
int patcher_restore_function(struct patcher_detour *detour);

int patcher_trace_function(struct ftrace_ops *ops, const char *function, unsigned long *addr);

#endif /* KMARKERS_REDIRECT_H */
