/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_PEERS_H
#define NATIVE_PEERS_H

#include <stdio.h>

/* Load the peers: probes of other tracers that are compared with markers.  Report missing peers. */
void native_load_other_tracers(void);

/*
 * Print lines of the file env about variants with fewer code addresses than layouts, and about
 * missing variants.
 */
void native_show_other_tracers_env(FILE *file);

#endif /* NATIVE_PEERS_H */
