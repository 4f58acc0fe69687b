/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_PEERS_H
#define NATIVE_PEERS_H

#include <stdio.h>

/* Load the peers (probes of other tracers) and report missing ones, before they are measured. */
void native_load_peers(void);

/* Print lines of the file env: variants with fewer code addresses, and missing variants. */
void native_show_peer_rows(FILE *file);

#endif /* NATIVE_PEERS_H */
