/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_PEERS_H
#define NATIVE_PEERS_H

/* Load what peers there are and name those there are not; before the group is used. */
void native_peers_load(void);

#endif /* NATIVE_PEERS_H */
