/* SPDX-License-Identifier: GPL-2.0-only */
/* Table of all benchmark groups. */
#ifndef BENCH_MODULES_GROUPS_H
#define BENCH_MODULES_GROUPS_H

#include <kmarkers/bench.h>
#include "output.h"

#define BENCH_MAX_GROUPS	64

/*
 * In the kernel: the built-in groups, then the groups of other modules; the slot of a removed group
 * is NULL.  In kmbench: the built-in groups.  In a program that is linked with libkmbench.a: the
 * groups that the program registered before main().
 */
extern const struct bench_group *bench_groups[BENCH_MAX_GROUPS];
extern unsigned int bench_nr_groups;

void bench_groups_init(void);
u64 bench_get_group_mask(void);
const char *bench_find_group_error(const struct bench_group *group);

/* Print the time limit of each group that has a time limit, for the file "env". */
static inline void bench_show_time_limits(struct seq_file *m, const struct bench_config *config)
{
	unsigned int i;

	for (i = 0; i < bench_nr_groups; i++)
		if (bench_groups[i])
			bench_show_time_limit(m, bench_groups[i], config);
}

#endif /* BENCH_MODULES_GROUPS_H */
