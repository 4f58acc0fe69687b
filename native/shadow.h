/* SPDX-License-Identifier: GPL-2.0-only */
/* User shadow stacks: stacks to which the processor pushes a second copy of each return address. */
#ifndef NATIVE_SHADOW_H
#define NATIVE_SHADOW_H

#include <linux/types.h>
#include <kmarkers/patcher.h>

/* Return true if the calling thread, and so each thread that it creates, has a shadow stack. */
bool native_has_shadow_stack(void);

/* Return true if an old or a new instruction of a batch is a call. */
bool native_batch_has_call(const struct patcher_poke *pokes, unsigned int nr);

#endif /* NATIVE_SHADOW_H */
