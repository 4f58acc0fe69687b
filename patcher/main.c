// SPDX-License-Identifier: GPL-2.0-only
/* The patcher as a module: breakpoint notifier and debugfs. */
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/ptrace.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <kmarkers/patcher.h>
#include <kmarkers/words.h>

#include "core.h"
#include "sites.h"
#include "words.h"

/* Of a number that is written to a file, with its newline. */
#define MAX_NUMBER	31

static struct dentry *kmarkers_dir;

static int stats_show(struct seq_file *m, void *unused)
{
	struct patcher_stats stats;
	unsigned int i;

	patcher_read_stats(&stats);
	seq_printf(m, "batches %lu\n", stats.batches);
	seq_printf(m, "sites %lu\n", stats.sites);
	seq_printf(m, "rounds %lu\n", stats.rounds);
	seq_printf(m, "hits %lu\n", stats.hits);
	seq_printf(m, "stale %lu\n", stats.stale);
	seq_printf(m, "refused %lu\n", stats.refused);
	seq_printf(m, "waits %lu\n", stats.waits);
	seq_printf(m, "longest_round_us %lu\n", stats.longest_round_ns / 1000);
	seq_printf(m, "longest_trap_us %lu\n", stats.longest_trap_ns / 1000);
	seq_printf(m, "longest_wait_us %lu\n", stats.longest_wait_ns / 1000);
	seq_printf(m, "check_us %lu\n", stats.check_ns / 1000);
	seq_printf(m, "map_us %lu\n", stats.map_ns / 1000);
	seq_printf(m, "apply_us %lu\n", stats.apply_ns / 1000);
	for (i = 0; i < PATCHER_BUCKETS - 1; i++)
		if (stats.durations[i])
			seq_printf(m, "batches_below_us_%lu %lu\n", 1UL << i, stats.durations[i]);
	if (stats.durations[i])
		seq_printf(m, "batches_more %lu\n", stats.durations[i]);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stats);

/* owner, symbol+offset, and what the site holds now; no raw addresses. */
static void show_site(void *data, const struct patcher_table *table, const struct patcher_site *site)
{
	u8 *addr = (u8 *)patcher_site_addr(site);

	seq_printf(data, "%s %pS %*ph%s\n", table->owner, addr, site->len, addr,
		   site->flags & PATCHER_SITE_RUN ? " run" : "");
}

static int sites_show(struct seq_file *m, void *unused)
{
	seq_puts(m, "owner symbol+offset/size bytes\n");
	patcher_for_each_site(show_site, m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(sites);

/**
 * patcher_debugfs_dir() - the directory kmarkers/ in debugfs
 *
 * Return: a dentry or an error pointer, either of which debugfs functions take.
 */
struct dentry *patcher_debugfs_dir(void)
{
	return kmarkers_dir;
}
EXPORT_SYMBOL_GPL(patcher_debugfs_dir);

/**
 * patcher_read_line() - the line that was written to a file
 * @buf: what was written
 * @count: how much
 * @most: how much it may be
 *
 * Context: may sleep.
 * Return: it, without a newline at its end, for kfree(); or an error pointer:
 * -EINVAL if it is empty, too long or has a NUL within, -EFAULT, -ENOMEM.
 */
char *patcher_read_line(const char __user *buf, size_t count, size_t most)
{
	char *line;
	int err;

	if (!count || count > most)
		return ERR_PTR(-EINVAL);
	line = memdup_user_nul(buf, count);
	if (IS_ERR(line))
		return line;
	err = words_end_line(line, count);
	if (!err)
		return line;
	kfree(line);
	return ERR_PTR(err);
}
EXPORT_SYMBOL_GPL(patcher_read_line);

/**
 * patcher_read_number() - the number that was written to a file
 * @buf: what was written: the number, and at most a newline behind it
 * @count: how much
 * @is_signed: it may be negative, and must fit into an s64
 * @value: the number; an s64 if @is_signed
 *
 * Context: may sleep.
 * Return: 0, -EINVAL for anything else, -EFAULT or -ENOMEM.
 */
int patcher_read_number(const char __user *buf, size_t count, bool is_signed, u64 *value)
{
	char *line = patcher_read_line(buf, count, MAX_NUMBER);
	int err;

	if (IS_ERR(line))
		return PTR_ERR(line);
	err = words_parse_number(line, is_signed, value);
	kfree(line);
	return err;
}
EXPORT_SYMBOL_GPL(patcher_read_number);

/*
 * Runs from do_int3() with interrupts off, in NMI-like context.  User-space
 * breakpoints travel the same chain.
 */
static int on_die(struct notifier_block *nb, unsigned long event, void *data)
{
	struct die_args *args = data;

	if (event != DIE_INT3 || !args->regs || user_mode(args->regs))
		return NOTIFY_DONE;
	return patcher_handle_int3(args->regs) ? NOTIFY_STOP : NOTIFY_DONE;
}
NOKPROBE_SYMBOL(on_die);

static struct notifier_block die_notifier = {
	.notifier_call = on_die,
	.priority = INT_MAX,
};

static int __init patcher_init(void)
{
	struct dentry *dir;
	int err;

	err = core_init();
	if (err)
		return err;
	err = register_die_notifier(&die_notifier);
	if (err)
		return err;
	kmarkers_dir = debugfs_create_dir("kmarkers", NULL);
	dir = debugfs_create_dir("patcher", kmarkers_dir);
	debugfs_create_file("stats", 0400, dir, NULL, &stats_fops);
	debugfs_create_file("sites", 0400, dir, NULL, &sites_fops);
	return 0;
}

static void __exit patcher_exit(void)
{
	debugfs_remove_recursive(kmarkers_dir);
	unregister_die_notifier(&die_notifier);
}

module_init(patcher_init);
module_exit(patcher_exit);

MODULE_DESCRIPTION("Live replacement of instructions in module text");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
