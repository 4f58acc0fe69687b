/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_PEERS_H
#define NATIVE_PEERS_H

#include <stdio.h>

/* Load the existing peers and report missing ones.  This is called before the group is used. */
void native_peers_load(void);

/* Print a line of the file env for each row that could not be measured, with the reason. */
void native_peers_show(FILE *file);

#endif /* NATIVE_PEERS_H */
