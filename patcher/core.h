/* SPDX-License-Identifier: GPL-2.0-only */
/* The door to core text. */
#ifndef PATCHER_CORE_H
#define PATCHER_CORE_H

#include <linux/init.h>
#include <kmarkers/patcher.h>

int core_init(void);

/* In the kernel's own text, but for what is freed after init. */
bool core_is_text(unsigned long addr);

int core_vet(const struct patcher_poke *pokes, unsigned int nr);
void core_text_lock(void);
void core_text_unlock(void);

/* Address of a symbol of the kernel, or 0; on IBT builds 4 past the start of a function. */
unsigned long core_resolve(const char *symbol);

int core_find_call(const char *function, const char *callee, unsigned long *offset);

#endif /* PATCHER_CORE_H */
