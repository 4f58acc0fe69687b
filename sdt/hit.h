/* SPDX-License-Identifier: GPL-2.0-only */
/* Dispatch of the hits of enabled sites to their handlers. */
#ifndef SDT_HIT_H
#define SDT_HIT_H

#include <linux/types.h>

struct patcher_site;
struct patcher_table;
struct pt_regs;
struct sdt_hit;

void sdt_call_all_handlers(void *private, const struct sdt_hit *hit);
bool sdt_handle_trap(const struct patcher_table *sites, const struct patcher_site *site,
		     struct pt_regs *regs);

#endif /* SDT_HIT_H */
