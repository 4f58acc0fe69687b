/* SPDX-License-Identifier: GPL-2.0-only */
/* Show the progress of kmbench on stderr. */
#ifndef NATIVE_PROGRESS_H
#define NATIVE_PROGRESS_H

struct bench_group;
struct bench_result;

/* Set the number of benchmarks that will be measured. */
void native_progress_set_total(unsigned int groups);

void native_progress_start(const struct bench_group *group, const struct bench_result *result);

/* Show progress between blocks.  Write at most a few times a second, and only to a terminal. */
void native_progress_show(void);

/* End the line of a benchmark; @err is the result of bench_run_group(). */
void native_progress_end(int err);

#endif /* NATIVE_PROGRESS_H */
