/* SPDX-License-Identifier: GPL-2.0-only */
/* The list of all groups. */
#ifndef BENCH_MODULES_GROUPS_H
#define BENCH_MODULES_GROUPS_H

#include <kmarkers/bench.h>

#define BENCH_MAX_GROUPS	64

/*
 * In a program of others, the groups that it registered before main(). In the kernel, groups of
 * other modules follow the own ones; the slot of a removed group is NULL.
 */
extern const struct bench_group *bench_groups[BENCH_MAX_GROUPS];
extern unsigned int bench_nr_groups;

void bench_groups_init(void);
u64 bench_all_groups(void);
const char *bench_why_not(const struct bench_group *group);

#endif /* BENCH_MODULES_GROUPS_H */
