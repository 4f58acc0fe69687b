// SPDX-License-Identifier: GPL-2.0-only
/* Create the debugfs directory kmarkers/, and read lines and numbers written to its files. */
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <kmarkers/words.h>

#include "debugfs.h"
#include "words.h"

/* Maximum number of bytes of a number that is written to a file, including the newline. */
#define MAX_NUMBER	31

static struct dentry *kmarkers_dir;

void __init kmarkers_debugfs_init(void)
{
	kmarkers_dir = debugfs_create_dir("kmarkers", NULL);
}

void kmarkers_debugfs_exit(void)
{
	debugfs_remove_recursive(kmarkers_dir);
}

/**
 * patcher_get_debugfs_dir() - return the directory kmarkers/ in debugfs
 *
 * Return: a dentry or an error pointer; debugfs functions accept both.
 */
struct dentry *patcher_get_debugfs_dir(void)
{
	return kmarkers_dir;
}
EXPORT_SYMBOL_GPL(patcher_get_debugfs_dir);

/**
 * patcher_read_line() - copy a line that user space writes to a file
 * @buf: the bytes written
 * @count: number of bytes
 * @max_bytes: maximum number of bytes
 *
 * Context: may sleep.
 * Return: the line without its newline, to be freed with kfree(); or an error pointer: -EINVAL for
 * a line that is empty, is longer than @max_bytes or contains a NUL; -EFAULT; -ENOMEM.
 */
char *patcher_read_line(const char __user *buf, size_t count, size_t max_bytes)
{
	char *line;
	int err;

	if (!count || count > max_bytes)
		return ERR_PTR(-EINVAL);
	line = memdup_user_nul(buf, count);
	if (IS_ERR(line))
		return line;
	err = kmarkers_strip_newline(line, count);
	if (!err)
		return line;
	kfree(line);
	return ERR_PTR(err);
}
EXPORT_SYMBOL_GPL(patcher_read_line);

/**
 * patcher_read_number() - parse a number that user space writes to a file
 * @buf: the bytes written: the number, and at most a newline after it
 * @count: number of bytes
 * @is_signed: true for an s64, which may be negative; false for a u64
 * @value: set to the number; if @is_signed, cast it to s64
 *
 * Context: may sleep.
 * Return: 0; -EINVAL if the bytes are not a number of that type; -EFAULT or -ENOMEM.
 */
int patcher_read_number(const char __user *buf, size_t count, bool is_signed, u64 *value)
{
	char *line = patcher_read_line(buf, count, MAX_NUMBER);
	int err;

	if (IS_ERR(line))
		return PTR_ERR(line);
	err = patcher_parse_number(line, is_signed, value);
	kfree(line);
	return err;
}
EXPORT_SYMBOL_GPL(patcher_read_number);
