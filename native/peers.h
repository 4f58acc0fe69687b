/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_PEERS_H
#define NATIVE_PEERS_H

#include <stdio.h>

/* Load the peers that exist and report missing ones; called before the group is used. */
void native_peers_load(void);

/* Write a line of env for each row that could not be measured, with the reason. */
void native_peers_show(FILE *file);

#endif /* NATIVE_PEERS_H */
