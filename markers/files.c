// SPDX-License-Identifier: GPL-2.0-only
/*
 * The debugfs directories, one for each marker name, and the files in these directories.
 *
 * Directories are created and removed when modules are loaded and unloaded.  Removing a directory
 * waits for operations on the files in it, so two locks are needed.  The lock of this source file
 * is held while directories are created and removed; no operation on a debugfs file takes this
 * lock.  The lock of controls.c protects the data that operations on debugfs files use.
 */
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <kmarkers/words.h>

#include "../base/lists.h"
#include "array.h"
#include "command.h"
#include "controls.h"
#include "events.h"
#include "files.h"
#include "forward.h"
#include "names.h"
#include "stubs.h"

static struct {
	struct mutex lock;		/* lock order: this mutex, then the mutex of controls.c */
	struct dentry *dir;
} tree = {
	.lock = __MUTEX_INITIALIZER(tree.lock),
};

static ssize_t run_written_command(struct file *file, const char __user *buf, size_t count,
				   const struct control_command *parse_word(const char *word))
{
	char *word = patcher_read_line(buf, count, CONTROL_WORD);
	const struct control_command *command;
	int err;

	if (IS_ERR(word))
		return PTR_ERR(word);
	command = parse_word(word);
	err = command ? marker_control_run_command(file_inode(file)->i_private, command) : -EINVAL;
	kfree(word);
	return err ?: count;
}

static ssize_t probe_write(struct file *file, const char __user *buf, size_t count, loff_t *ppos)
{
	return run_written_command(file, buf, count, marker_command_find);
}

/*
 * Among the probes at the positions @from to @to - 1 of @array, count the probes whose function is
 * at the address @code.
 */
static unsigned int count_probes_with_code(const struct probe_array *array, unsigned int from,
					   unsigned int to, unsigned long code)
{
	unsigned int i, count = 0;

	for (i = from; i < to; i++)
		count += marker_probe_get_code_addr(&array->probe[i]) == code;
	return count;
}

/* Print each probe function of an array once, with the number of times that it is connected. */
static void show_probe_array(struct seq_file *m, const struct probe_array *array,
			     marker_probe_func *noop)
{
	unsigned int i;

	for (i = 0; array && i < array->nr && kmarkers_seq_has_space(m); i++) {
		unsigned long code = marker_probe_get_code_addr(&array->probe[i]);

		if (array->probe[i].func == noop || count_probes_with_code(array, 0, i, code))
			continue;
		seq_printf(m, "%ps %u\n", (void *)code,
			   count_probes_with_code(array, i, array->nr, code));
	}
}

static void show_probes_of_name(struct seq_file *m, const struct marker_entry *entry)
{
	struct marker *marker;

	show_probe_array(m, entry->probes, marker_array_do_nothing);
	list_for_each_entry(marker, &entry->markers, node) {
		const struct marker_typed *typed = get_typed_marker(marker);

		if (typed)
			show_probe_array(m, typed->array, get_typed_noop(typed));
	}
}

static int probe_show(struct seq_file *m, void *unused)
{
	struct marker_control *control = m->private;
	struct marker_entry *entry;

	mutex_lock(&marker_registry.lock);
	entry = marker_name_find(control->name);
	if (entry)
		show_probes_of_name(m, entry);
	mutex_unlock(&marker_registry.lock);
	return 0;
}

static ssize_t enable_write(struct file *file, const char __user *buf, size_t count, loff_t *ppos)
{
	return run_written_command(file, buf, count, marker_command_parse_enable_word);
}

static int enable_show(struct seq_file *m, void *unused)
{
	const struct marker_control *control = m->private;

	seq_printf(m, "%d\n", marker_event_is_enabled(control->name));
	return 0;
}

static int control_stats_show(struct seq_file *m, void *unused)
{
	/* No lock: the counters are never replaced, and outlive this debugfs file. */
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

DEFINE_SHOW_STORE_ATTRIBUTE(enable);
DEFINE_SHOW_STORE_ATTRIBUTE(probe);
DEFINE_SHOW_ATTRIBUTE(control_stats);

/*
 * Return true if a marker name can be the name of a directory in debugfs: an identifier that is not
 * too long, and not the name of a file in the parent directory.  The marker registry accepts any
 * name.
 */
static bool is_valid_directory_name(const char *name)
{
	static const char *const taken[] = { "list", "control" };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(taken); i++)
		if (!strcmp(name, taken[i]))
			return false;
	return patcher_is_identifier(name) && strlen(name) <= NAME_MAX;
}

/*
 * Create the directory of a marker name and the files in it.  The directory has no subdirectories,
 * because creating directories takes most of the time of loading a module with a thousand names.
 */
static void create_control_directory(struct marker_control *control)
{
	struct dentry *dir;

	if (!is_valid_directory_name(control->name)) {
		pr_warn("marker %.64s: not a valid directory name, so this marker has no directory; use markers/control\n",
			control->name);
		return;
	}
	dir = debugfs_create_dir(control->name, tree.dir);
	if (IS_ERR(dir))
		return;
	control->dir = dir;
	debugfs_create_file("enable", 0600, dir, control, &enable_fops);
	debugfs_create_file("probe", 0600, dir, control, &probe_fops);
	debugfs_create_file("stats", 0400, dir, control, &control_stats_fops);
}

/**
 * marker_files_add_directories() - create directories in debugfs for marker names that have none
 * @module: the module whose markers were added; NULL for markers attached to functions
 *
 * Context: may sleep.
 * Return: 0; or -ENOMEM, in which case some of the names may have no directory.
 */
int marker_files_add_directories(struct module *module)
{
	struct marker_control *control, *next;
	LIST_HEAD(new);
	int err;

	mutex_lock(&tree.lock);
	err = marker_controls_create_missing(module, &new);
	list_for_each_entry_safe(control, next, &new, list) {
		list_del(&control->list);
		create_control_directory(control);
	}
	mutex_unlock(&tree.lock);
	return err;
}

/**
 * marker_files_remove_directories() - remove the debugfs directories of names without markers
 *
 * Context: may sleep; waits for operations on the files in these directories.
 */
void marker_files_remove_directories(void)
{
	struct marker_control *control, *next;
	LIST_HEAD(removed);

	mutex_lock(&tree.lock);
	marker_controls_remove_without_markers(&removed);
	list_for_each_entry_safe(control, next, &removed, list) {
		debugfs_remove_recursive(control->dir);
		marker_control_free(control);
	}
	mutex_unlock(&tree.lock);
}

/* Set the directory in which the directories of marker names are created. */
void marker_files_init(struct dentry *dir)
{
	tree.dir = dir;
}
