/* SPDX-License-Identifier: GPL-2.0-only */
/* The list of all groups. */
#ifndef BENCH_MODULES_GROUPS_H
#define BENCH_MODULES_GROUPS_H

#include "bench.h"

extern const struct bench_group *const bench_groups[];
extern const unsigned int bench_nr_groups;

#endif /* BENCH_MODULES_GROUPS_H */
