/* SPDX-License-Identifier: GPL-2.0-only */
/* Detect kprobes of other code, and keep such kprobes from being optimised. */
#ifndef PATCHER_KPROBES_H
#define PATCHER_KPROBES_H

#include <linux/init.h>

#include <kmarkers/patcher.h>

int __init patcher_kprobes_init(void);

/*
 * Lock and unlock kprobe_mutex.  While kprobe_mutex is held, no kprobe is registered, armed or
 * optimised.
 */
void patcher_kprobes_lock(void);
void patcher_kprobes_unlock(void);

int patcher_check_for_kprobes(const struct patcher_poke *pokes, unsigned int nr);
int patcher_kprobes_add_guards(const struct patcher_poke *pokes, unsigned int nr);
void patcher_kprobes_remove_unneeded_guards(void);

#endif /* PATCHER_KPROBES_H */
