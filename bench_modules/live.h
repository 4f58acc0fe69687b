/* SPDX-License-Identifier: GPL-2.0-only */
/* Switch code of the running kernel between variants, for the program kmlive. */
#ifndef BENCH_MODULES_LIVE_H
#define BENCH_MODULES_LIVE_H

#include <linux/types.h>

struct dentry;

/**
 * struct bench_live - a live benchmark: code of the kernel that is switched between variants
 * @name: name of the benchmark, of the debugfs file in bench/, and of the command in bench/control
 * @variants: names of the variants; the first is "original", the kernel's own code
 * @nr_variants: number of variants
 * @now: index of the selected variant in @variants
 * @begin: installs a variant other than the first; returns 0 or an error
 * @end: removes the installed variant; returns 0, or an error if the variant is still installed
 * @hits: returns the number of executions of a variant; NULL if executions are not counted
 */
struct bench_live {
	const char *name;
	const char *const *variants;
	unsigned int nr_variants;
	unsigned int now;
	int (*begin)(unsigned int variant);
	int (*end)(unsigned int variant);
	u64 (*hits)(unsigned int variant);
};

extern struct bench_live bench_live_getppid;
extern struct bench_live bench_live_packets;

struct seq_file;

void bench_live_init(struct dentry *dir);
void bench_live_exit(void);
void bench_live_show_usage(struct seq_file *m);
struct bench_live *bench_live_find_benchmark(const char *name);
int bench_live_select_variant(struct bench_live *live, const char *name);

#endif /* BENCH_MODULES_LIVE_H */
