// SPDX-License-Identifier: GPL-2.0-only
/* Run commands that are written to a module parameter "control" or to a debugfs file "control". */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/ratelimit.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <kmarkers/control.h>
#include <kmarkers/words.h>

#include "words.h"

/* Log a refused command with the list of accepted commands, at most 50 times in 5 seconds. */
static void report_refused_line(const struct patcher_control *control, const char *line)
{
	static DEFINE_RATELIMIT_STATE(limit, 5 * HZ, 50);

	if (__ratelimit(&limit))
		pr_info("module %s: command \"%.100s\" refused; accepted commands: %s\n",
			control->module, line, control->usage);
}

/* Run a command.  Return -ENODEV before @control was opened and after @control was closed. */
static int run_control_line(struct patcher_control *control, char *line)
{
	char *written = kstrdup(line, GFP_KERNEL);
	int err;

	if (!written)
		return -ENOMEM;
	mutex_lock(&control->lock);
	err = control->open ? control->run(line) : -ENODEV;
	mutex_unlock(&control->lock);
	if (err == -EINVAL)
		report_refused_line(control, written);
	kfree(written);
	return err;
}

/**
 * patcher_control_write() - run a command that user space writes to a file in debugfs
 * @control: the receiver of commands to which the file belongs
 * @buf: the bytes written
 * @count: number of bytes
 *
 * Context: may sleep.
 * Return: @count; -ENODEV before patcher_control_open() and after patcher_control_close(); or an
 * error of patcher_read_line() or of the module.
 */
ssize_t patcher_control_write(struct patcher_control *control, const char __user *buf, size_t count)
{
	char *line = patcher_read_line(buf, count, PATCHER_CONTROL_LINE);
	int err;

	if (IS_ERR(line))
		return PTR_ERR(line);
	err = run_control_line(control, line);
	kfree(line);
	return err ?: count;
}
EXPORT_SYMBOL_GPL(patcher_control_write);

/**
 * patcher_control_set() - run a command that is written to a parameter of PATCHER_CONTROL()
 * @value: the line written to the parameter
 * @param: the parameter
 *
 * Context: may sleep.
 * Return: 0; -EINVAL for a line that is empty or too long; -ENOMEM; -ENODEV before
 * patcher_control_open() and after patcher_control_close(); or an error of the module.
 */
int patcher_control_set(const char *value, const struct kernel_param *param)
{
	size_t length = strlen(value);
	char *line;
	int err;

	if (length > PATCHER_CONTROL_LINE)
		return -EINVAL;
	line = kstrdup(value, GFP_KERNEL);
	if (!line)
		return -ENOMEM;
	err = kmarkers_strip_newline(line, length) ?: run_control_line(param->arg, line);
	kfree(line);
	return err;
}
EXPORT_SYMBOL_GPL(patcher_control_set);

static void set_control_open(struct patcher_control *control, bool open)
{
	mutex_lock(&control->lock);
	control->open = open;
	mutex_unlock(&control->lock);
}

/**
 * patcher_control_open() - accept commands from now on
 * @control: the receiver of commands
 *
 * Context: may sleep.
 */
void patcher_control_open(struct patcher_control *control)
{
	set_control_open(control, true);
}
EXPORT_SYMBOL_GPL(patcher_control_open);

/**
 * patcher_control_close() - accept no more commands
 * @control: the receiver of commands
 *
 * Context: may sleep; on return no command is running.
 */
void patcher_control_close(struct patcher_control *control)
{
	set_control_open(control, false);
}
EXPORT_SYMBOL_GPL(patcher_control_close);
