/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_PEERS_H
#define NATIVE_PEERS_H

#include <stdio.h>

/* Load the dormant sites of other tracers that are measured beside ours, and report missing ones. */
void native_load_other_tracers(void);

/*
 * Print lines of the file env about variants with fewer code addresses than layouts, and about
 * missing variants.
 */
void native_show_other_tracers_env(FILE *file);

#endif /* NATIVE_PEERS_H */
