/* SPDX-License-Identifier: GPL-2.0-only */
/* Checks on a registered site of core text. */
#ifndef PATCHER_CORE_H
#define PATCHER_CORE_H

struct patcher_core_site;

/*
 * Check that the patcher is allowed to write a registered site of core text now.  Return 0 or an
 * error.
 */
int patcher_check_core_site(const struct patcher_core_site *core);

#endif /* PATCHER_CORE_H */
