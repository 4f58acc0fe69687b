/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_TRAP_H
#define NATIVE_TRAP_H

#include <stdbool.h>

/* Handle SIGTRAP; 0 or an error. */
int native_trap_start(void);

/* Is it still handled by us? */
bool native_trap_is_ours(void);

#endif /* NATIVE_TRAP_H */
