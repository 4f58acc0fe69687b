// SPDX-License-Identifier: GPL-2.0-only
/* Lines that root writes to a module: through its parameter control, or a file in debugfs. */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <kmarkers/control.h>
#include <kmarkers/words.h>

#include "words.h"

/**
 * patcher_control_run() - carry out a line
 * @control: what takes it
 * @line: modified
 *
 * Context: may sleep.
 * Return: 0; -ENODEV before the control is opened and after it was closed; or an error
 * of the module.
 */
int patcher_control_run(struct patcher_control *control, char *line)
{
	int err;

	mutex_lock(&control->lock);
	err = control->open ? control->run(line) : -ENODEV;
	mutex_unlock(&control->lock);
	return err;
}
EXPORT_SYMBOL_GPL(patcher_control_run);

/**
 * patcher_control_write() - carry out a line that user space writes to a file in debugfs
 * @control: what takes it
 * @buf: the bytes written
 * @count: how many
 *
 * Context: may sleep.
 * Return: @count; or an error of patcher_read_line() or patcher_control_run().
 */
ssize_t patcher_control_write(struct patcher_control *control, const char __user *buf, size_t count)
{
	char *line = patcher_read_line(buf, count, PATCHER_CONTROL_LINE);
	int err;

	if (IS_ERR(line))
		return PTR_ERR(line);
	err = patcher_control_run(control, line);
	kfree(line);
	return err ?: count;
}
EXPORT_SYMBOL_GPL(patcher_control_write);

/**
 * patcher_control_set() - set operation of a parameter that PATCHER_CONTROL() defines
 * @value: the line
 * @param: the parameter
 *
 * Context: may sleep.
 * Return: 0; -EINVAL for a line that is too long or is more than one; -ENOMEM; or an error of
 * patcher_control_run().
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
	err = kmarkers_end_line(line, length) ?: patcher_control_run(param->arg, line);
	kfree(line);
	return err;
}
EXPORT_SYMBOL_GPL(patcher_control_set);

static void set_open(struct patcher_control *control, bool open)
{
	mutex_lock(&control->lock);
	control->open = open;
	mutex_unlock(&control->lock);
}

/**
 * patcher_control_open() - take lines from now on
 * @control: what takes them
 *
 * Context: may sleep.
 */
void patcher_control_open(struct patcher_control *control)
{
	set_open(control, true);
}
EXPORT_SYMBOL_GPL(patcher_control_open);

/**
 * patcher_control_close() - take no more lines
 * @control: what took them
 *
 * Context: may sleep; on return no line is being carried out.
 */
void patcher_control_close(struct patcher_control *control)
{
	set_open(control, false);
}
EXPORT_SYMBOL_GPL(patcher_control_close);
