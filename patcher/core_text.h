/* SPDX-License-Identifier: GPL-2.0-only */
/* Core text: its bounds and its lock. */
#ifndef PATCHER_CORE_TEXT_H
#define PATCHER_CORE_TEXT_H

#include <linux/init.h>
#include <linux/types.h>

int __init patcher_core_text_init(void);

/* Is an address in the kernel's own text, without the part that is freed after init? */
bool patcher_is_core_text(unsigned long addr);

/* text_mutex: while it is held, nobody else writes core text. */
void patcher_core_text_lock(void);
void patcher_core_text_unlock(void);

#endif /* PATCHER_CORE_TEXT_H */
