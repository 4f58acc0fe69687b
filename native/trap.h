/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_TRAP_H
#define NATIVE_TRAP_H

#include <stdbool.h>

struct pt_regs;

/*
 * Install a SIGTRAP handler, which passes each breakpoint to @handle.  @handle returns true for a
 * breakpoint of kmarkers.  Return 0 or an error.
 */
int native_install_sigtrap(bool (*handle)(struct pt_regs *regs));

/* Return true if the SIGTRAP handler of kmarkers is still installed. */
bool native_is_trap_handler_installed(void);

#endif /* NATIVE_TRAP_H */
