// SPDX-License-Identifier: GPL-2.0-only
/* Our files in debugfs, and the module's parameter control, which takes what the file takes. */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#include <kmarkers/control.h>
#include <kmarkers/words.h>

#include "command.h"
#include "definitions.h"
#include "files.h"
#include "list.h"

DEFINE_SHOW_ATTRIBUTE(sdt_list);

static struct dentry *dir;

PATCHER_CONTROL(control, sdt_command_run);
MODULE_PARM_DESC(control, "takes what the file control in debugfs takes, also under lockdown");

static ssize_t sdt_control_write(struct file *file, const char __user *buf, size_t count,
				 loff_t *ppos)
{
	return patcher_control_write(&control, buf, count);
}

static const struct file_operations control_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = sdt_control_write,
	.llseek = noop_llseek,
};

void sdt_files_init(void)
{
	dir = debugfs_create_dir("sdt", patcher_debugfs_dir());
	debugfs_create_file("list", 0400, dir, NULL, &sdt_list_fops);
	debugfs_create_file("notes", 0400, dir, NULL, &sdt_notes_fops);
	debugfs_create_file("control", 0200, dir, NULL, &control_fops);
	patcher_control_open(&control);
}

/* On return no command is being carried out, and none will be. */
void sdt_files_exit(void)
{
	patcher_control_close(&control);
	debugfs_remove_recursive(dir);
}
