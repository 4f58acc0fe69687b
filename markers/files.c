// SPDX-License-Identifier: GPL-2.0-only
/* The files in the directory of a name. */
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <kmarkers/typed.h>
#include <kmarkers/words.h>

#include "control.h"
#include "internal.h"
#include "registry.h"

static ssize_t write_command(struct file *file, const char __user *buf, size_t count,
			     const struct control_command *understand(const char *word))
{
	char *word = patcher_read_line(buf, count, CONTROL_WORD);
	const struct control_command *command;
	int err;

	if (IS_ERR(word))
		return PTR_ERR(word);
	command = understand(word);
	err = command ? control_apply(file_inode(file)->i_private, command) : -EINVAL;
	kfree(word);
	return err ?: count;
}

static ssize_t probe_write(struct file *file, const char __user *buf, size_t count, loff_t *ppos)
{
	return write_command(file, buf, count, control_command);
}

/* How many probes in a part of an array have this code. */
static unsigned int count_code(const struct probe_array *array, unsigned int from,
			       unsigned int to, unsigned long code)
{
	unsigned int i, count = 0;

	for (i = from; i < to; i++)
		count += probe_code(&array->probe[i]) == code;
	return count;
}

/* Each function once, with how often it is connected. */
static void show_array(struct seq_file *m, const struct probe_array *array,
		       marker_probe_func *nothing)
{
	unsigned int i;

	for (i = 0; array && i < array->nr; i++) {
		unsigned long code = probe_code(&array->probe[i]);

		if (array->probe[i].func == nothing || count_code(array, 0, i, code))
			continue;
		seq_printf(m, "%ps %u\n", (void *)code, count_code(array, i, array->nr, code));
	}
}

static void show_entry(struct seq_file *m, const struct marker_entry *entry)
{
	struct marker *marker;

	show_array(m, entry->probes, probe_nothing);
	list_for_each_entry(marker, &entry->markers, node) {
		struct marker_typed *typed = container_of(marker, struct marker_typed, marker);

		if (marker->flavour == MARKER_TYPED)
			show_array(m, typed->array, (marker_probe_func *)(void *)typed->nothing);
	}
}

static int probe_show(struct seq_file *m, void *unused)
{
	struct marker_control *control = m->private;
	struct marker_entry *entry;

	mutex_lock(&registry.lock);
	entry = find_entry(control->name);
	if (entry)
		show_entry(m, entry);
	mutex_unlock(&registry.lock);
	return 0;
}

static ssize_t enable_write(struct file *file, const char __user *buf, size_t count, loff_t *ppos)
{
	return write_command(file, buf, count, control_enable);
}

static int enable_show(struct seq_file *m, void *unused)
{
	seq_printf(m, "%d\n", control_is_connected(m->private, CONTROL_TRACE));
	return 0;
}

static int show_format(void *data, const struct marker *marker)
{
	seq_printf(data, "%s\n", marker->format);
	return 1;
}

/* That of the first marker; others are in sites. */
static int format_show(struct seq_file *m, void *unused)
{
	struct marker_control *control = m->private;

	markers_for_each(control->name, NULL, show_format, m);
	return 0;
}

static int show_site(void *data, const struct marker *marker)
{
	markers_show_marker(data, marker);
	return 0;
}

static int sites_show(struct seq_file *m, void *unused)
{
	struct marker_control *control = m->private;

	seq_puts(m, MARKERS_LIST_HEAD);
	markers_for_each(control->name, NULL, show_site, m);
	return 0;
}

static int stats_show(struct seq_file *m, void *unused)
{
	/* Allocated once, and freed after this file is gone. */
	unsigned long __percpu *hits = READ_ONCE(((struct marker_control *)m->private)->hits);
	unsigned long sum = 0;
	int cpu;

	if (!hits) {
		seq_puts(m, "hits -\n");
		return 0;
	}
	for_each_possible_cpu(cpu)
		sum += READ_ONCE(*per_cpu_ptr(hits, cpu));
	seq_printf(m, "hits %lu\n", sum);
	for_each_possible_cpu(cpu)
		seq_printf(m, "cpu%d %lu\n", cpu, READ_ONCE(*per_cpu_ptr(hits, cpu)));
	return 0;
}

DEFINE_SHOW_ATTRIBUTE(format);
DEFINE_SHOW_ATTRIBUTE(sites);
DEFINE_SHOW_ATTRIBUTE(stats);

static int probe_open(struct inode *inode, struct file *file)
{
	return single_open(file, probe_show, inode->i_private);
}

static const struct file_operations probe_fops = {
	.owner = THIS_MODULE,
	.open = probe_open,
	.read = seq_read,
	.write = probe_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static int enable_open(struct inode *inode, struct file *file)
{
	return single_open(file, enable_show, inode->i_private);
}

static const struct file_operations enable_fops = {
	.owner = THIS_MODULE,
	.open = enable_open,
	.read = seq_read,
	.write = enable_write,
	.llseek = seq_lseek,
	.release = single_release,
};

/* Names of markers are identifiers; what else a table may hold gets no directory. */
static bool can_be_directory(const char *name)
{
	static const char *const taken[] = { "list", "control", "stats" };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(taken); i++)
		if (!strcmp(name, taken[i]))
			return false;
	return patcher_is_identifier(name) && strlen(name) <= NAME_MAX;
}

/**
 * files_create() - make the directory of a name, with its files
 * @control: its controls; they must stay until the directory is removed
 * @parent: the directory of all names
 *
 * Context: may sleep.
 */
void files_create(struct marker_control *control, struct dentry *parent)
{
	struct dentry *dir;

	if (!can_be_directory(control->name)) {
		pr_warn("%.64s: no directory of this name, use control\n", control->name);
		return;
	}
	dir = debugfs_create_dir(control->name, parent);
	if (IS_ERR(dir))
		return;
	control->dir = dir;
	debugfs_create_file("enable", 0600, dir, control, &enable_fops);
	debugfs_create_file("probe", 0600, dir, control, &probe_fops);
	debugfs_create_file("format", 0400, dir, control, &format_fops);
	debugfs_create_file("sites", 0400, dir, control, &sites_fops);
	debugfs_create_file("stats", 0400, dir, control, &stats_fops);
}
