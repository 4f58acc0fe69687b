// SPDX-License-Identifier: GPL-2.0-only
/*
 * Switch code of the running kernel between variants.  Each live benchmark (struct bench_live) has
 * a debugfs file in bench/.  A write of a variant's name to that file selects the variant;
 * "original" is the kernel's own code.  The program kmlive selects variants and measures them.
 */
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <kmarkers/words.h>

#include "live.h"

#define MAX_NAME	32

static struct bench_live *const benchmarks[] = { &bench_live_getppid, &bench_live_packets };

static DEFINE_MUTEX(lock);

static int switch_to_live_variant(struct bench_live *live, unsigned int variant)
{
	int err = live->now ? live->end(live->now) : 0;

	if (err)
		return err;
	live->now = 0;
	err = variant ? live->begin(variant) : 0;
	if (!err)
		live->now = variant;
	return err;
}

/* Return the live benchmark with this name, or NULL. */
struct bench_live *bench_live_find_benchmark(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(benchmarks); i++)
		if (!strcmp(name, benchmarks[i]->name))
			return benchmarks[i];
	return NULL;
}

/**
 * bench_live_select_variant() - select a variant of a live benchmark
 * @live: the live benchmark
 * @name: name of the variant
 *
 * Context: may sleep.
 * Return: 0; -EINVAL for an unknown name; or an error of @live->begin() or @live->end().
 */
int bench_live_select_variant(struct bench_live *live, const char *name)
{
	unsigned int i;
	int err = -EINVAL;

	mutex_lock(&lock);
	for (i = 0; i < live->nr_variants; i++)
		if (!strcmp(name, live->variants[i]))
			err = switch_to_live_variant(live, i);
	mutex_unlock(&lock);
	return err;
}

static ssize_t live_write(struct file *file, const char __user *buf, size_t count, loff_t *ppos)
{
	char *name = patcher_read_line(buf, count, MAX_NAME);
	int err;

	if (IS_ERR(name))
		return PTR_ERR(name);
	err = bench_live_select_variant(file_inode(file)->i_private, name);
	kfree(name);
	return err ?: count;
}

static int live_show(struct seq_file *m, void *unused)
{
	struct bench_live *live = m->private;
	unsigned int i;

	mutex_lock(&lock);
	for (i = 0; i < live->nr_variants; i++)
		seq_printf(m, i == live->now ? "[%s]\n" : "%s\n", live->variants[i]);
	mutex_unlock(&lock);
	return 0;
}
DEFINE_SHOW_STORE_ATTRIBUTE(live);

/*
 * Print the number of executions of each variant, one variant per line.  Skip live benchmarks that
 * do not count executions.
 */
static int hits_show(struct seq_file *m, void *unused)
{
	const struct bench_live *live;
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(benchmarks); i++) {
		live = benchmarks[i];
		for (j = 0; live->hits && j < live->nr_variants; j++)
			seq_printf(m, "%s %s %llu\n", live->name, live->variants[j], live->hits(j));
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(hits);

/* Print the usage of the commands that select variants. */
void bench_live_show_usage(struct seq_file *m)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(benchmarks); i++)
		seq_printf(m, "%s%s VARIANT", i ? " | " : "", benchmarks[i]->name);
	seq_putc(m, '\n');
}

/**
 * bench_live_init() - create the debugfs files of all live benchmarks
 * @dir: the directory bench/
 */
void bench_live_init(struct dentry *dir)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(benchmarks); i++)
		debugfs_create_file(benchmarks[i]->name, 0600, dir, benchmarks[i], &live_fops);
	/* Under lockdown, a debugfs file can be read only if its mode has no write permission. */
	debugfs_create_file("hits", 0400, dir, NULL, &hits_fops);
}

/* Restore the kernel's own code.  Call this after the debugfs files were removed. */
void bench_live_exit(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(benchmarks); i++)
		bench_live_select_variant(benchmarks[i], benchmarks[i]->variants[0]);
	/* Wait for an RCU grace period: a removed hook may still be running on another CPU. */
	synchronize_rcu();
}
