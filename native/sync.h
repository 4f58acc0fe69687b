/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_SYNC_H
#define NATIVE_SYNC_H

/* Make every other thread execute a serialising instruction.  Return 0, or -1 if not allowed. */
int native_sync_threads(void);

#endif /* NATIVE_SYNC_H */
