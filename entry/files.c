// SPDX-License-Identifier: GPL-2.0-only
/* The debugfs files in entry/, and the module parameter "control", which runs the same commands. */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/seq_file.h>

#include <kmarkers/control.h>
#include <kmarkers/words.h>

#include "command.h"
#include "files.h"
#include "list.h"
#include "rules.h"

DEFINE_SHOW_ATTRIBUTE(entry_list);
DEFINE_SHOW_ATTRIBUTE(entry_stats);

static struct dentry *dir;

PATCHER_CONTROL(control, entry_run_command,
		"PATTERN count | PATTERN -count | PATTERN event | PATTERN -event | PATTERN none");
MODULE_PARM_DESC(control, "takes the commands of the debugfs file entry/control, also under kernel lockdown");

static ssize_t entry_control_write(struct file *file, const char __user *buf, size_t count,
				   loff_t *ppos)
{
	return patcher_control_write(&control, buf, count);
}

/* Show the usage, then all rules, including rules that match no function yet. */
static int entry_control_show(struct seq_file *m, void *unused)
{
	seq_printf(m, "# %s\n", control.usage);
	entry_show_rules(m);
	return 0;
}
DEFINE_SHOW_STORE_ATTRIBUTE(entry_control);

void entry_files_init(void)
{
	dir = debugfs_create_dir("entry", patcher_get_debugfs_dir());
	debugfs_create_file("list", 0400, dir, NULL, &entry_list_fops);
	debugfs_create_file("stats", 0400, dir, NULL, &entry_stats_fops);
	debugfs_create_file("control", 0600, dir, NULL, &entry_control_fops);
	patcher_control_open(&control);
}

/* Remove the files. On return no command is running, and none can start. */
void entry_files_exit(void)
{
	patcher_control_close(&control);
	debugfs_remove_recursive(dir);
}
