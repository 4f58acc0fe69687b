/* SPDX-License-Identifier: GPL-2.0-only */
/* From a breakpoint at a site to its handlers. */
#ifndef SDT_HIT_H
#define SDT_HIT_H

#include <linux/types.h>

struct patcher_site;
struct patcher_table;
struct pt_regs;

bool sdt_trap(const struct patcher_table *sites, const struct patcher_site *site,
	      struct pt_regs *regs);

#endif /* SDT_HIT_H */
