/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_PEERS_H
#define NATIVE_PEERS_H

#include <stdio.h>

/* Load the peers (probes of other tracers) and report missing ones, before they are measured. */
void native_load_peers(void);

/*
 * Print lines of the file env about variants with fewer code addresses than layouts, and about
 * missing variants.
 */
void native_show_peer_env(FILE *file);

#endif /* NATIVE_PEERS_H */
