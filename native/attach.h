/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_ATTACH_H
#define NATIVE_ATTACH_H

/* Attach BPF programs until @pid ends, and print the process that keeps them.  Returns an exit code. */
int native_attach(const char *pid);

#endif /* NATIVE_ATTACH_H */
