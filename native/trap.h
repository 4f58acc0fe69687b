/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_TRAP_H
#define NATIVE_TRAP_H

#include <stdbool.h>

struct pt_regs;

/* Let @handle have each breakpoint first: is it true, it was ours.  0 or an error. */
int native_trap_start(bool (*handle)(struct pt_regs *regs));

/* Is it still handled by us? */
bool native_trap_is_ours(void);

#endif /* NATIVE_TRAP_H */
