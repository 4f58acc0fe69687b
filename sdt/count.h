/* SPDX-License-Identifier: GPL-2.0-only */
/* The built-in handler that counts hits. */
#ifndef SDT_COUNT_H
#define SDT_COUNT_H

#include <linux/types.h>

#include <kmarkers/sdt.h>

int sdt_switch_hit_counting(const char *pattern, bool on);
bool sdt_is_count_handler(sdt_handler *handler);

#endif /* SDT_COUNT_H */
