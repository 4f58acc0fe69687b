/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_FORK_H
#define NATIVE_FORK_H

/* Check that the handlers of fork() were registered.  Return 0 or an error. */
int native_check_fork_handlers(void);

#endif /* NATIVE_FORK_H */
