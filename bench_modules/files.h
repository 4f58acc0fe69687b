/* SPDX-License-Identifier: GPL-2.0-only */
/* The files of the harness in debugfs. */
#ifndef BENCH_MODULES_FILES_H
#define BENCH_MODULES_FILES_H

void bench_files_init(void);
void bench_files_exit(void);

#endif /* BENCH_MODULES_FILES_H */
