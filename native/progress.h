/* SPDX-License-Identifier: GPL-2.0-only */
/* What kmbench shows on stderr while it runs. */
#ifndef NATIVE_PROGRESS_H
#define NATIVE_PROGRESS_H

struct bench_group;
struct bench_result;

/* How many benchmarks there will be. */
void native_progress_plan(unsigned int groups);

void native_progress_start(const struct bench_group *group, const struct bench_result *result);

/* Called between blocks; writes at most a few times a second, and to a terminal only. */
void native_progress_show(void);

/* @err as bench_run_group() returned it. */
void native_progress_end(int err);

#endif /* NATIVE_PROGRESS_H */
