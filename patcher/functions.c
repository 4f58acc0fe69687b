// SPDX-License-Identifier: GPL-2.0-only
/* Find functions of the kernel that the patcher is allowed to change, and the calls in them. */
#include <linux/errno.h>
#include <linux/ftrace.h>
#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <kmarkers/opcodes.h>

#include "../base/lock.h"
#include "../base/symbols.h"
#include "core_text.h"
#include "functions.h"

/* Bytes of padding before a function, where retbleed=stuff puts its call depth tracking code. */
#ifdef CONFIG_FUNCTION_PADDING_BYTES
#define PADDING		CONFIG_FUNCTION_PADDING_BYTES
#else
#define PADDING		0
#endif

/*
 * Name prefixes of functions that must not be changed, although ftrace can trace them, because they
 * may run between a breakpoint and patcher_handle_int3().  The functions belong to the die notifier
 * chain, to the checks of pointers to notifiers, to notifiers that have the same priority as the
 * patcher's notifier, to the kernel's debuggers, to RCU, to the tracepoints of the notifier chain
 * and of RCU, or, in debug kernels, to the instrumentation of such functions.
 * tests/vm/suites/handler_path.sh traces these functions on a running kernel, and checks that a
 * site in each of them is refused.
 */
static const char *const handler_path[] = {
	"__rcu_", "rcu_", "lock_", "lockdep_", "debug_lockdep_", "notify_die", "notifier_",
	"atomic_notifier_", "kprobe", "get_kprobe", "hw_breakpoint_", "kgdb_", "preempt_", "ct_", "irqentry_",
	"ftrace_", "__ftrace_", "kasan_", "__kasan_", "kcsan_", "__kcsan_", "do_int3",
	"func_ptr_is_", "kernel_text_", "__kernel_text_", "core_kernel_text", "in_gate_area",
	"is_module_", "__module_", "mod_find", "__traceiter_notifier_", "__traceiter_rcu_",
};

static bool has_int3_path_prefix(const char *function)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(handler_path); i++)
		if (strstarts(function, handler_path[i]))
			return true;
	return false;
}

/* Find a function of the kernel itself.  Return -ENOENT for a function of a module. */
static int resolve_core_function(const char *name, struct kmarkers_extent *extent)
{
	unsigned long addr = kmarkers_resolve_symbol(name);

	if (!addr || !patcher_is_core_text(addr) || kmarkers_find_symbol_extent(addr, extent))
		return -ENOENT;
	/* Refuse a symbol that is not the start of a function, such as a label. */
	return addr - extent->start <= KMARKERS_ENDBR_LEN ? 0 : -ENOENT;
}

/**
 * patcher_add_to_ftrace_filter() - add the function at an address to a filter of ftrace
 * @ops: the operations
 * @addr: the function's first byte, or the address that kmarkers_resolve_symbol() returns
 *
 * Return: 0, -EPERM if ftrace cannot trace a function at @addr, or -ENOMEM.
 */
int patcher_add_to_ftrace_filter(struct ftrace_ops *ops, unsigned long addr)
{
	/*
	 * If the kernel's functions begin with an ENDBR, ftrace also searches for its instruction
	 * behind the ENDBR.
	 */
	int err = ftrace_set_filter_ip(ops, addr, 0, 0);

	return err && err != -ENOMEM ? -EPERM : err;
}

/* Check that ftrace can trace a function.  ftrace cannot trace entry, noinstr and assembly code. */
static int check_ftrace_can_trace(const struct kmarkers_extent *extent)
{
	struct ftrace_ops *ops;
	int err;

	ops = kzalloc(sizeof(*ops), GFP_KERNEL);
	if (!ops)
		return -ENOMEM;
	err = patcher_add_to_ftrace_filter(ops, extent->start);
	compat_ftrace_free_filter(ops);
	kfree(ops);
	return err;
}

bool patcher_may_run_in_int3(const char *name, unsigned long addr)
{
	struct kmarkers_extent extent;

	return has_int3_path_prefix(name) ||
	       (!kmarkers_find_symbol_extent(addr, &extent) &&
		has_int3_path_prefix(extent.name));
}

/*
 * Find a function that the patcher is allowed to change.  If a function exists but must not be
 * changed, log the refusal.
 */
int patcher_find_function(const char *name, struct kmarkers_extent *extent)
{
	int err = resolve_core_function(name, extent);

	if (err)
		return err;
	err = patcher_may_run_in_int3(name, extent->start) ? -EPERM :
	      check_ftrace_can_trace(extent);
	if (err == -EPERM)
		pr_info("change of function %s refused: the breakpoint handler uses it, or ftrace cannot trace it\n",
			name);
	return err;
}

/* Return the target of the call instruction at @addr. */
static unsigned long read_call_target(unsigned long addr)
{
	s32 displacement;

	memcpy(&displacement, (void *)addr + 1, sizeof(displacement));
	return addr + KMARKERS_CALL_LEN + displacement;
}

/*
 * Find the start of the function @name.  The function is not inlined, because a second struct
 * kmarkers_extent would make the stack frame of patcher_find_call() too large.
 */
static noinline int find_function_start(const char *name, unsigned long *start)
{
	struct kmarkers_extent extent;
	int err = resolve_core_function(name, &extent);

	*start = err ? 0 : extent.start;
	return err;
}

/*
 * Return true if the instruction at @addr is a direct call to one of three addresses: @callee, the
 * start of a function; the byte behind the ENDBR of this function (IBT builds); or the call depth
 * tracking code in the padding before this function (retbleed=stuff).  An int3 is accepted instead
 * of the opcode, because a kprobe may be on the call: patcher_check_core_write() later refuses to
 * change this call, and logs the reason.
 */
static bool is_call_to_function(unsigned long addr, unsigned long callee)
{
	u8 opcode = READ_ONCE(*(u8 *)addr);

	return (opcode == KMARKERS_CALL || opcode == KMARKERS_INT3) &&
	       read_call_target(addr) - (callee - PADDING) <= PADDING + KMARKERS_ENDBR_LEN;
}

/**
 * patcher_find_call() - find the first direct call from one function to another
 * @function: the caller, a function that the patcher is allowed to change
 * @callee: the function that @function calls
 * @offset: set to the offset of the call in @function
 *
 * Context: may sleep.
 * Return: 0, -ENOENT, -EPERM or -ENOMEM.
 */
int patcher_find_call(const char *function, const char *callee, unsigned long *offset)
{
	struct kmarkers_extent extent;
	unsigned long target, at;
	int err;

	patcher_lock();
	err = patcher_find_function(function, &extent) ?: find_function_start(callee, &target);
	patcher_unlock();
	if (err)
		return err;
	for (at = 0; at + KMARKERS_CALL_LEN <= extent.size; at++) {
		if (is_call_to_function(extent.start + at, target)) {
			*offset = at;
			return 0;
		}
	}
	return -ENOENT;
}
