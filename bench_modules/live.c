// SPDX-License-Identifier: GPL-2.0-only
/*
 * The running kernel's getppid(2), live: the call in it that looks up the pid is
 * redirected to implementations of the same work, with two markers or none, as
 * measured for immediate values in 2008.  The name of a variant, or "original" for the
 * kernel's own code, can be written to bench/getppid-live; the user-space program
 * kmlive switches and measures.
 */
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <kmarkers/marker.h>
#include <kmarkers/redirect.h>
#include <kmarkers/words.h>

#include "live.h"

#define MAX_NAME	32

/* A replacement for the function that getppid calls; it calls that function itself. */
#define LIVE(id, before, after)						\
static noinline pid_t id(struct task_struct *task, enum pid_type type,	\
			 struct pid_namespace *ns)			\
{									\
	pid_t pid;							\
									\
	before;								\
	pid = __task_pid_nr_ns(task, type, ns);				\
	after;								\
	return pid;							\
}

#define MARKED(id, flavour)						\
	LIVE(id,							\
	     trace_mark_flavour(flavour, live_getppid_entry, NULL, MARK_NOARGS), \
	     trace_mark_flavour(flavour, live_getppid_exit, NULL, "%d", pid))

LIVE(live_out, barrier(), barrier())
LIVE(live_out_clone, barrier(), barrier())
MARKED(live_generic, generic)
MARKED(live_immediate, immediate)

static const struct live_variant {
	const char *name;
	void *function;
} variants[] = {
	{ "original", NULL },
	{ "compiled-out", live_out },
	{ "compiled-out-clone", live_out_clone },
	{ "generic", live_generic },
	{ "immediate", live_immediate },
};

static DEFINE_MUTEX(lock);
static const struct live_variant *current_variant = &variants[0];
static struct patcher_redirect redirect = {
	.function = "__x64_sys_getppid",
	.callee = "__task_pid_nr_ns",
	/* The module cannot be unloaded while the kernel calls into it. */
	.module = THIS_MODULE,
};

static int select_variant(const struct live_variant *variant)
{
	int err = 0;

	if (current_variant->function)
		err = patcher_restore_call(&redirect);
	if (err)
		return err;
	current_variant = &variants[0];
	if (!variant->function)
		return 0;
	redirect.replacement = variant->function;
	err = patcher_redirect_call(&redirect);
	if (!err)
		current_variant = variant;
	return err;
}

/**
 * bench_live_select() - select the implementation of getppid(2)
 * @name: name of a variant
 *
 * Context: may sleep.
 * Return: 0; -EINVAL for an unknown name; or an error of the patcher.
 */
int bench_live_select(const char *name)
{
	unsigned int i;
	int err = -EINVAL;

	mutex_lock(&lock);
	for (i = 0; i < ARRAY_SIZE(variants); i++)
		if (!strcmp(name, variants[i].name))
			err = select_variant(&variants[i]);
	mutex_unlock(&lock);
	return err;
}

static ssize_t live_write(struct file *file, const char __user *buf, size_t count, loff_t *ppos)
{
	char *name = patcher_read_line(buf, count, MAX_NAME);
	int err;

	if (IS_ERR(name))
		return PTR_ERR(name);
	err = bench_live_select(name);
	kfree(name);
	return err ?: count;
}

static int live_show(struct seq_file *m, void *unused)
{
	unsigned int i;

	mutex_lock(&lock);
	for (i = 0; i < ARRAY_SIZE(variants); i++)
		seq_printf(m, &variants[i] == current_variant ? "[%s]\n" : "%s\n",
			   variants[i].name);
	mutex_unlock(&lock);
	return 0;
}
DEFINE_SHOW_STORE_ATTRIBUTE(live);

/**
 * bench_live_init() - create the control file
 * @dir: the directory bench/
 */
void bench_live_init(struct dentry *dir)
{
	debugfs_create_file("getppid-live", 0600, dir, NULL, &live_fops);
}
