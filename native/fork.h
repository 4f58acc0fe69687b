/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_FORK_H
#define NATIVE_FORK_H

/* Serialise fork() and batches, and give a child its own text.  Return 0 or an error. */
int native_fork_start(void);

#endif /* NATIVE_FORK_H */
