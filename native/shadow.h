/* SPDX-License-Identifier: GPL-2.0-only */
/* User shadow stacks, on which the processor keeps return addresses a second time. */
#ifndef NATIVE_SHADOW_H
#define NATIVE_SHADOW_H

#include <linux/types.h>
#include <kmarkers/patcher.h>

/* Has the calling thread a shadow stack?  Threads that it starts inherit it. */
bool native_has_shadow_stack(void);

/* Is there a call among the old or the new instructions of a batch? */
bool native_batch_has_call(const struct patcher_poke *pokes, unsigned int nr);

#endif /* NATIVE_SHADOW_H */
