/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_PEERS_H
#define NATIVE_PEERS_H

#include <stdio.h>

/* Load the existing peers and report missing ones.  Call this before empty-loop-peers is used. */
void native_peers_load(void);

/* Print lines of the file env: rows with fewer layouts, and missing rows with the reason. */
void native_peers_show(FILE *file);

#endif /* NATIVE_PEERS_H */
