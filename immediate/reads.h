/* SPDX-License-Identifier: GPL-2.0-only */
/* Check and change the instructions that read immediate values. */
#ifndef IMMEDIATE_READS_H
#define IMMEDIATE_READS_H

#include <linux/types.h>

struct patcher_poke;
struct patcher_site;

u64 imv_load_value(const void *var, unsigned int size);
bool imv_is_site_record_valid(const struct patcher_site *site);
bool imv_fill_poke(struct patcher_poke *poke, const struct patcher_site *site, u64 value);

#endif /* IMMEDIATE_READS_H */
