// SPDX-License-Identifier: GPL-2.0-only
/* The module kmarkers_patcher: the breakpoint notifier, and the patcher's files in debugfs. */
#include <linux/debugfs.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/ptrace.h>
#include <linux/seq_file.h>

#include <kmarkers/patcher.h>
#include <kmarkers/version.h>
#include <kmarkers/words.h>

#include "../base/debugfs.h"
#include "../base/lists.h"
#include "../base/lock.h"
#include "core_text.h"
#include "kprobes.h"
#include "register.h"

static int patcher_stats_show(struct seq_file *m, void *unused)
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
DEFINE_SHOW_ATTRIBUTE(patcher_stats);

/* Print one line for a site: owner, symbol+offset/size and current bytes. Print no raw address. */
static void show_patcher_site(void *data, const struct patcher_table *table,
			      const struct patcher_site *site, u8 *addr)
{
	/* If the seq_file buffer is full, skip the symbol lookup, which is slow. */
	if (!kmarkers_seq_has_space(data))
		return;
	seq_printf(data, "%s %pS %*ph%s\n", table->owner, addr, site->len, addr,
		   site->flags & PATCHER_SITE_RUN ? " run" : "");
}

static int sites_show(struct seq_file *m, void *unused)
{
	seq_puts(m, "owner symbol+offset/size bytes\n");
	patcher_for_each_site(show_patcher_site, m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(sites);

/*
 * Die notifier.  do_int3() calls this function with interrupts off, in an NMI-like context, for
 * breakpoints in the kernel and in user space.
 */
static int handle_die_event(struct notifier_block *nb, unsigned long event, void *data)
{
	struct die_args *args = data;

	if (event != DIE_INT3 || !args->regs || user_mode(args->regs))
		return NOTIFY_DONE;
	return patcher_handle_int3(args->regs) ? NOTIFY_STOP : NOTIFY_DONE;
}
NOKPROBE_SYMBOL(handle_die_event);

static struct notifier_block die_notifier = {
	.notifier_call = handle_die_event,
	.priority = INT_MAX,
};

static int __init patcher_init(void)
{
	struct dentry *dir;
	int err;

	patcher_lock();
	err = patcher_core_text_init() ?: patcher_kprobes_init();
	patcher_unlock();
	if (err)
		return err;
	err = register_die_notifier(&die_notifier);
	if (err)
		return err;
	kmarkers_debugfs_init();
	dir = debugfs_create_dir("patcher", patcher_get_debugfs_dir());
	debugfs_create_file("stats", 0400, dir, NULL, &patcher_stats_fops);
	debugfs_create_file("sites", 0400, dir, NULL, &sites_fops);
	return 0;
}

static void __exit patcher_exit(void)
{
	kmarkers_debugfs_exit();
	unregister_die_notifier(&die_notifier);
}

module_init(patcher_init);
module_exit(patcher_exit);

MODULE_DESCRIPTION("Live replacement of instructions in modules and in the kernel");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
MODULE_VERSION(KMARKERS_VERSION);
MODULE_ALIAS("patcher");
