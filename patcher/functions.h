/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions of the kernel. */
#ifndef PATCHER_FUNCTIONS_H
#define PATCHER_FUNCTIONS_H

#include <linux/types.h>

struct ftrace_ops;
struct kmarkers_extent;

/* One that a caller may name for a change: 0, -ENOENT, -EPERM or -ENOMEM. */
int patcher_find_function(const char *name, struct kmarkers_extent *extent);
int patcher_find_call(const char *function, const char *callee, unsigned long *offset);
int patcher_trace_at(struct ftrace_ops *ops, unsigned long addr);

/* Does a function, of this name among others, run between a breakpoint and our handler? */
bool patcher_handles_breakpoints(const char *name, unsigned long addr);

#endif /* PATCHER_FUNCTIONS_H */
