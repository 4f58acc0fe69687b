/* SPDX-License-Identifier: GPL-2.0-only */
/* Find functions of the kernel, and the calls in them. */
#ifndef PATCHER_FUNCTIONS_H
#define PATCHER_FUNCTIONS_H

#include <linux/types.h>

struct ftrace_ops;
struct kmarkers_extent;

/*
 * Find a function of the kernel that the patcher is allowed to change.  Return 0, -ENOENT, -EPERM
 * or -ENOMEM.
 */
int patcher_find_function(const char *name, struct kmarkers_extent *extent);
int patcher_find_call(const char *function, const char *callee, unsigned long *offset);
int patcher_add_to_ftrace_filter(struct ftrace_ops *ops, unsigned long addr);

/*
 * Return true if the function at @addr may run between a breakpoint and patcher_handle_int3().
 * @name is one of the function's symbols.
 */
bool patcher_may_run_in_int3(const char *name, unsigned long addr);

#endif /* PATCHER_FUNCTIONS_H */
