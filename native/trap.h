/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_TRAP_H
#define NATIVE_TRAP_H

#include <stdbool.h>

struct pt_regs;

/* Pass each breakpoint to @handle, which returns true if it was ours.  Return 0 or an error. */
int native_trap_start(bool (*handle)(struct pt_regs *regs));

/* Is our handler of SIGTRAP still installed? */
bool native_trap_is_ours(void);

#endif /* NATIVE_TRAP_H */
