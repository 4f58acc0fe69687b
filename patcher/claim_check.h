/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Check that the patcher is allowed to write core text (text of the kernel itself) now. The check
 * registers disabled kprobes.
 */
#ifndef PATCHER_CLAIM_CHECK_H
#define PATCHER_CLAIM_CHECK_H

#include <kmarkers/patcher.h>

int patcher_check_core_write(unsigned long addr, unsigned int len);
int patcher_check_core_pokes(const struct patcher_poke *pokes, unsigned int nr);

#endif /* PATCHER_CLAIM_CHECK_H */
