// SPDX-License-Identifier: GPL-2.0-only
/*
 * The file control, which takes commands for many names at a time: in debugfs, and as a
 * parameter of the module, because a kernel that is locked down shuts the one in debugfs.
 */
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <kmarkers/words.h>

#include "command.h"
#include "control_file.h"
#include "controls.h"
#include "functions.h"

/* The parameter is there before all else is, and for a while after. */
static struct {
	struct mutex lock;		/* before all others of markers */
	bool open;
	struct dentry *file;
} control = {
	.lock = __MUTEX_INITIALIZER(control.lock),
};

static int run_request(const struct control_request *request)
{
	if (request->verb == CONTROL_ATTACH)
		return marker_function_attach(request->object, request->name);
	if (request->verb == CONTROL_DETACH)
		return marker_function_detach(request->object);
	return marker_controls_apply(request->object, request->command);
}

static int run_line(char *line)
{
	struct control_request request;
	int err;

	mutex_lock(&control.lock);
	err = control.open ? marker_command_parse(line, &request) : -ENODEV;
	if (!err)
		err = run_request(&request);
	mutex_unlock(&control.lock);
	return err;
}

static ssize_t control_write(struct file *file, const char __user *buf, size_t count, loff_t *ppos)
{
	char *line = patcher_read_line(buf, count, CONTROL_LINE);
	int err;

	if (IS_ERR(line))
		return PTR_ERR(line);
	err = run_line(line);
	kfree(line);
	return err ?: count;
}

static const struct file_operations control_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = control_write,
	.llseek = noop_llseek,
};

static int set_control(const char *value, const struct kernel_param *param)
{
	size_t length = strlen(value);
	char *line;
	int err;

	if (!length || length > CONTROL_LINE)
		return -EINVAL;
	line = kstrndup(value, value[length - 1] == '\n' ? length - 1 : length, GFP_KERNEL);
	if (!line)
		return -ENOMEM;
	err = run_line(line);
	kfree(line);
	return err;
}

static const struct kernel_param_ops control_param_ops = { .set = set_control };
module_param_cb(control, &control_param_ops, NULL, 0200);
MODULE_PARM_DESC(control, "takes what the file control in debugfs takes, also under lockdown");

static void set_open(bool open)
{
	mutex_lock(&control.lock);
	control.open = open;
	mutex_unlock(&control.lock);
}

void marker_control_file_init(struct dentry *dir)
{
	control.file = debugfs_create_file("control", 0200, dir, NULL, &control_fops);
	set_open(true);
}

/* Remove the file.  On return no write to it attaches a marker any more. */
void marker_control_file_exit(void)
{
	set_open(false);
	debugfs_remove(control.file);
}
