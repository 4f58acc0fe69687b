/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_FORK_H
#define NATIVE_FORK_H

/* Keep fork() and batches apart, and give a child its own text; 0 or an error. */
int native_fork_start(void);

#endif /* NATIVE_FORK_H */
