// SPDX-License-Identifier: GPL-2.0-only
/* The debugfs files of SDT probes, and the module parameter "control", which runs commands. */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/seq_file.h>

#include <kmarkers/control.h>
#include <kmarkers/words.h>

#include "attach.h"
#include "command.h"
#include "count.h"
#include "definitions.h"
#include "events.h"
#include "files.h"
#include "list.h"

DEFINE_SHOW_ATTRIBUTE(sdt_list);

static struct dentry *dir;

PATCHER_CONTROL(control, sdt_run_command,
		"PATTERN count | PATTERN -count | PATTERN event | PATTERN -event | PATTERN promote | PATTERN -promote | PATTERN none");
MODULE_PARM_DESC(control, "takes the commands of the debugfs file sdt/control, also under kernel lockdown");

static ssize_t sdt_control_write(struct file *file, const char __user *buf, size_t count,
				 loff_t *ppos)
{
	return patcher_control_write(&control, buf, count);
}

/* Show the usage, then the patterns of all attached handlers and requested trace events. */
static int sdt_control_show(struct seq_file *m, void *unused)
{
	seq_printf(m, "# %s\n", control.usage);
	return sdt_show_attachments(m, sdt_is_count_handler) ?: sdt_show_event_requests(m);
}
DEFINE_SHOW_STORE_ATTRIBUTE(sdt_control);

void sdt_files_init(void)
{
	dir = debugfs_create_dir("sdt", patcher_get_debugfs_dir());
	debugfs_create_file("list", 0400, dir, NULL, &sdt_list_fops);
	debugfs_create_file("notes", 0400, dir, NULL, &sdt_notes_fops);
	debugfs_create_file("control", 0600, dir, NULL, &sdt_control_fops);
	patcher_control_open(&control);
}

/* Remove the files. On return no command is running, and none can start. */
void sdt_files_exit(void)
{
	patcher_control_close(&control);
	debugfs_remove_recursive(dir);
}
