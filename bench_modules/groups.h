/* SPDX-License-Identifier: GPL-2.0-only */
/* The list of all groups. */
#ifndef BENCH_MODULES_GROUPS_H
#define BENCH_MODULES_GROUPS_H

#include <kmarkers/bench.h>

/* In a program of others, the groups that it registered before main(). */
extern const struct bench_group *bench_groups[];
extern unsigned int bench_nr_groups;

#endif /* BENCH_MODULES_GROUPS_H */
