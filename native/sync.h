/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_SYNC_H
#define NATIVE_SYNC_H

/* Every other thread executes a serialising instruction; 0, or -1 if that is not allowed. */
int native_sync_threads(void);

#endif /* NATIVE_SYNC_H */
