// SPDX-License-Identifier: GPL-2.0-only
/*
 * Immediate values that root may change: root either writes a number to the file of the value in
 * debugfs, or writes "MODULE.NAME NUMBER" to the module parameter "control".
 */
#include <linux/debugfs.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <kmarkers/control.h>
#include <kmarkers/immediate.h>
#include <kmarkers/words.h>

#include "settable.h"

#define MAX_FILE_NAME	128

/* The settable values of a module. */
struct settable_table {
	struct list_head node;
	struct module *module;
	s32 *records;
	unsigned int nr;
};

static DEFINE_MUTEX(lock);		/* protects the list of tables */
static LIST_HEAD(tables);
static struct dentry *values;

static s64 read_settable_value(const struct imv_settable *settable)
{
	switch (settable->size) {
	case 1:
		return settable->is_signed ? (s64)READ_ONCE(*(s8 *)settable->var) :
					     READ_ONCE(*(u8 *)settable->var);
	case 2:
		return settable->is_signed ? (s64)READ_ONCE(*(s16 *)settable->var) :
					     READ_ONCE(*(u16 *)settable->var);
	case 4:
		return settable->is_signed ? (s64)READ_ONCE(*(s32 *)settable->var) :
					     READ_ONCE(*(u32 *)settable->var);
	default:
		return READ_ONCE(*(s64 *)settable->var);
	}
}

static int value_show(struct seq_file *m, void *unused)
{
	const struct imv_settable *settable = m->private;

	/* Only a value of the type u64 may be larger than the largest s64. */
	seq_printf(m, settable->is_signed ? "%lld\n" : "%llu\n", read_settable_value(settable));
	return 0;
}

/*
 * Return @err, the result of parsing @value, or -EINVAL if @value is out of range.  If -EINVAL is
 * returned, log the allowed range.
 */
static int check_allowed_range(const struct imv_settable *settable, int err, s64 value)
{
	if (!err && (value < settable->min || value > settable->max))
		err = -EINVAL;
	if (err == -EINVAL)
		pr_info_ratelimited("immediate value %s must be a number from %lld to %lld\n",
				    settable->name, settable->min, settable->max);
	return err;
}

static int set_settable_value(const struct imv_settable *settable, s64 value)
{
	struct imv_change change = { .var = settable->var, .size = settable->size };
	int err;

	memcpy(&change.value, &value, settable->size);
	err = imv_set_many(&change, 1);
	if (err == -EINVAL)
		pr_info_ratelimited("immediate value %s cannot be set: a module reads it with another size: declare it with the same type in both modules\n",
				    settable->name);
	return err;
}

static ssize_t value_write(struct file *file, const char __user *buf, size_t count, loff_t *ppos)
{
	const struct imv_settable *settable = file_inode(file)->i_private;
	u64 bits = 0;
	int err;

	err = patcher_read_number(buf, count, true, &bits);
	err = check_allowed_range(settable, err, bits) ?: set_settable_value(settable, bits);
	return err ?: count;
}
DEFINE_SHOW_STORE_ATTRIBUTE(value);

static struct imv_settable *get_settable_at(const struct settable_table *table, unsigned int i)
{
	return (void *)&table->records[i] + table->records[i];
}

static const char *format_settable_name(char *name, const struct module *module,
					const struct imv_settable *settable)
{
	snprintf(name, MAX_FILE_NAME, "%s.%s", module->name, settable->name);
	return name;
}

static const struct imv_settable *find_settable(const char *wanted_name)
{
	struct settable_table *table;
	char name[MAX_FILE_NAME];
	unsigned int i;

	lockdep_assert_held(&lock);
	list_for_each_entry(table, &tables, node)
		for (i = 0; i < table->nr; i++)
			if (!strcmp(format_settable_name(name, table->module,
							 get_settable_at(table, i)), wanted_name))
				return get_settable_at(table, i);
	return NULL;
}

/*
 * Run a line "MODULE.NAME NUMBER".  The function holds the mutex "lock" while it sets the value, so
 * the module that contains the value is not unloaded meanwhile.
 */
static int run_set_command(char *line)
{
	const struct imv_settable *settable;
	char *words[2];
	u64 bits = 0;
	int err;

	if (patcher_split_words(line, words, 2) != 2)
		return -EINVAL;
	mutex_lock(&lock);
	settable = find_settable(words[0]);
	if (settable) {
		err = patcher_parse_number(words[1], true, &bits);
		err = check_allowed_range(settable, err, bits) ?:
		      set_settable_value(settable, bits);
	} else {
		err = -ENOENT;
	}
	mutex_unlock(&lock);
	if (err == -ENOENT)
		pr_info("immediate value %s cannot be set: it has no file in the debugfs directory immediate/values\n",
			words[0]);
	return err;
}

PATCHER_CONTROL(control, run_set_command, "MODULE.NAME NUMBER");
MODULE_PARM_DESC(control, "write MODULE.NAME NUMBER to set an immediate value, also under kernel lockdown");

static void create_value_file(struct module *module, struct imv_settable *settable)
{
	char name[MAX_FILE_NAME];

	format_settable_name(name, module, settable);
	settable->private = debugfs_create_file(name, 0600, values, settable, &value_fops);
}

/**
 * imv_settable_create_files() - create the debugfs files of a module's settable values
 * @module: the module being loaded
 * @span: the records of the module's settable values
 *
 * Context: may sleep.
 * Return: 0, -EINVAL for a malformed table, or -ENOMEM.
 */
int imv_settable_create_files(struct module *module, const struct kmarkers_span *span)
{
	int i, nr = kmarkers_count_records(span, sizeof(s32));
	struct settable_table *table;

	if (nr <= 0)
		return nr;
	table = kzalloc(sizeof(*table), GFP_KERNEL);
	if (!table)
		return -ENOMEM;
	table->module = module;
	table->records = span->first;
	table->nr = nr;
	for (i = 0; i < nr; i++)
		create_value_file(module, get_settable_at(table, i));
	mutex_lock(&lock);
	list_add_tail(&table->node, &tables);
	mutex_unlock(&lock);
	return 0;
}

/* Remove the debugfs files of a module, and wait for reads and writes in progress. */
static void remove_value_files(const struct settable_table *table)
{
	unsigned int i;

	for (i = 0; i < table->nr; i++)
		debugfs_remove(get_settable_at(table, i)->private);
}

/**
 * imv_settable_remove_files() - remove the debugfs files of a module's settable values
 * @module: the module being unloaded; functions that set its parameters may still run
 *
 * Context: may sleep; called by module notifiers, never twice at the same time for one module.
 */
void imv_settable_remove_files(struct module *module)
{
	struct settable_table *table, *next;
	LIST_HEAD(gone);

	mutex_lock(&lock);
	list_for_each_entry_safe(table, next, &tables, node)
		if (table->module == module)
			list_move(&table->node, &gone);
	mutex_unlock(&lock);
	list_for_each_entry_safe(table, next, &gone, node) {
		remove_value_files(table);
		kfree(table);
	}
}

/**
 * imv_settable_init() - create the directory values/, and open the module parameter "control"
 * @dir: the directory immediate/
 */
void imv_settable_init(struct dentry *dir)
{
	values = debugfs_create_dir("values", dir);
	patcher_control_open(&control);
}

/* Close the parameter "control": on return no value can be set through this parameter. */
void imv_settable_exit(void)
{
	patcher_control_close(&control);
}
