/* SPDX-License-Identifier: GPL-2.0-only */
/* Bounds and lock of core text, the kernel's own text. */
#ifndef PATCHER_CORE_TEXT_H
#define PATCHER_CORE_TEXT_H

#include <linux/init.h>
#include <linux/types.h>

int __init patcher_core_text_init(void);

/* Return true if an address is in the part of core text that is not freed after init. */
bool patcher_is_core_text(unsigned long addr);

/* Lock and unlock text_mutex.  While text_mutex is held, no other code writes core text. */
void patcher_core_text_lock(void);
void patcher_core_text_unlock(void);

#endif /* PATCHER_CORE_TEXT_H */
