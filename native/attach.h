/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_ATTACH_H
#define NATIVE_ATTACH_H

/*
 * Attach BPF programs until process @pid ends; print the process id of the background process that
 * keeps the programs attached.  Return an exit code.
 */
int native_attach_bpf_programs(const char *pid);

#endif /* NATIVE_ATTACH_H */
