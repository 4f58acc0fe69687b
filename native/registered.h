/* SPDX-License-Identifier: GPL-2.0-only */
/* Benchmarks that a user's program registered with BENCH_GROUP(). */
#ifndef NATIVE_REGISTERED_H
#define NATIVE_REGISTERED_H

#include <stdio.h>

#include <linux/types.h>

/* Check all groups, and print the first error.  Return 0 or -EINVAL. */
int native_check_registered_groups(void);

/* Return a bit mask of the groups that `kmbench list` prints and `kmbench run` measures. */
u64 native_get_default_groups(void);

/* Print lines of the file env about the measured groups. */
void native_write_group_details_to_env(FILE *file);

#endif /* NATIVE_REGISTERED_H */
