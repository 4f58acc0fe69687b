// SPDX-License-Identifier: GPL-2.0-only
/* Our files in debugfs. */
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/slab.h>

#include <kmarkers/words.h>

#include "command.h"
#include "files.h"
#include "list.h"

DEFINE_SHOW_ATTRIBUTE(sdt_list);

static struct dentry *dir;

static ssize_t sdt_control_write(struct file *file, const char __user *buf, size_t count,
				 loff_t *ppos)
{
	char *line = patcher_read_line(buf, count, SDT_CONTROL_LINE);
	int err;

	if (IS_ERR(line))
		return PTR_ERR(line);
	err = sdt_command_run(line);
	kfree(line);
	return err ?: count;
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
	debugfs_create_file("control", 0200, dir, NULL, &control_fops);
}

/* On return nobody reads or writes them any more. */
void sdt_files_exit(void)
{
	debugfs_remove_recursive(dir);
}
