/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_ATTACH_H
#define NATIVE_ATTACH_H

/* Attach BPF programs, and print the process that keeps them.  Returns an exit code. */
int native_attach(void);

#endif /* NATIVE_ATTACH_H */
