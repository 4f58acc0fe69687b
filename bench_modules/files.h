/* SPDX-License-Identifier: GPL-2.0-only */
/* The debugfs files of the benchmarks, in bench/. */
#ifndef BENCH_MODULES_FILES_H
#define BENCH_MODULES_FILES_H

#include <linux/types.h>

struct bench_group;

bool bench_is_file_name_used(const char *name);
void bench_create_group_files(unsigned long group);
void bench_remove_group_files(const struct bench_group *group);
void bench_files_init(void);
void bench_files_exit(void);

#endif /* BENCH_MODULES_FILES_H */
