/* SPDX-License-Identifier: GPL-2.0-only */
/* The text of the kernel itself. */
#ifndef PATCHER_CORE_TEXT_H
#define PATCHER_CORE_TEXT_H

#include <linux/init.h>
#include <linux/types.h>

int __init patcher_core_text_init(void);

/* In the kernel's own text, but for what is freed after init. */
bool patcher_is_core_text(unsigned long addr);

/* No one else writes core text in between. */
void patcher_core_text_lock(void);
void patcher_core_text_unlock(void);

#endif /* PATCHER_CORE_TEXT_H */
