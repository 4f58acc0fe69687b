/* SPDX-License-Identifier: GPL-2.0-only */
/* Print samples and a summary of the samples. */
#ifndef BENCH_MODULES_OUTPUT_H
#define BENCH_MODULES_OUTPUT_H

#include <kmarkers/bench.h>

struct seq_file;

/* Names of the values of enum bench_cycles, as in the file env. */
extern const char *const bench_cycles_names[];

struct bench_sample *bench_get_sample(const struct bench_result *result, u64 number);
void bench_show_time_limit(struct seq_file *m, const struct bench_group *group,
			   const struct bench_config *config);
void bench_show_csv_header(struct seq_file *m);
void bench_show_sample(struct seq_file *m, const struct bench_group *group,
		       const struct bench_sample *s);
void bench_show_samples(struct seq_file *m, const struct bench_group *group,
			const struct bench_result *result);
int bench_show_summary(struct seq_file *m, const struct bench_group *group,
		       const struct bench_result *result);

#endif /* BENCH_MODULES_OUTPUT_H */
