/* SPDX-License-Identifier: GPL-2.0-only */
/* The running kernel's getppid(2), redirected to implementations with markers. */
#ifndef BENCH_MODULES_LIVE_H
#define BENCH_MODULES_LIVE_H

struct dentry;

void bench_live_init(struct dentry *dir);
int bench_live_select(const char *name);

#endif /* BENCH_MODULES_LIVE_H */
