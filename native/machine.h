/* SPDX-License-Identifier: GPL-2.0-only */
/* Print a description of the machine on which benchmarks run. */
#ifndef NATIVE_MACHINE_H
#define NATIVE_MACHINE_H

#include <stdbool.h>
#include <stdio.h>

/* Return true if the TSC runs at one frequency in every state of the core. */
bool native_machine_has_invariant_tsc(void);

/* Print the machine's properties as lines of key=value; tsc_khz only if the TSC is invariant. */
void native_machine_write_env(FILE *file, bool invariant_tsc);

#endif /* NATIVE_MACHINE_H */
