// SPDX-License-Identifier: GPL-2.0-only
/* The file control in debugfs, which takes commands for many names at a time. */
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/slab.h>

#include <kmarkers/words.h>

#include "command.h"
#include "control_file.h"
#include "controls.h"
#include "functions.h"

static struct dentry *control;

static int run_request(const struct control_request *request)
{
	if (request->verb == CONTROL_ATTACH)
		return marker_function_attach(request->object, request->name);
	if (request->verb == CONTROL_DETACH)
		return marker_function_detach(request->object);
	return marker_controls_apply(request->object, request->command);
}

static ssize_t control_write(struct file *file, const char __user *buf, size_t count, loff_t *ppos)
{
	char *line = patcher_read_line(buf, count, CONTROL_LINE);
	struct control_request request;
	int err;

	if (IS_ERR(line))
		return PTR_ERR(line);
	err = marker_command_parse(line, &request) ?: run_request(&request);
	kfree(line);
	return err ?: count;
}

static const struct file_operations control_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = control_write,
	.llseek = noop_llseek,
};

void marker_control_file_init(struct dentry *dir)
{
	control = debugfs_create_file("control", 0200, dir, NULL, &control_fops);
}

/* Remove the file.  On return no write to it attaches a marker any more. */
void marker_control_file_exit(void)
{
	debugfs_remove(control);
}
