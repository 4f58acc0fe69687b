/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_PEERS_H
#define NATIVE_PEERS_H

/* Load the peers that exist and name those that do not; called before the group is used. */
void native_peers_load(void);

#endif /* NATIVE_PEERS_H */
