// SPDX-License-Identifier: GPL-2.0-only
/*
 * The controls of names: which there are, their built-in probes, and the file
 * that takes commands for many names at a time.
 *
 * Names come and go with modules.  Removing a directory waits for whoever is in
 * its files, so two locks are needed: @tree is held while directories are made
 * and removed, and no operation of their files takes it; @lock protects what
 * they look at.
 */
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/glob.h>
#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <kmarkers/words.h>

#include "event_probe.h"
#include "control.h"
#include "format.h"
#include "functions.h"
#include "registry.h"

#define NAME_BITS	10

static struct {
	struct mutex tree;		/* before lock */
	struct mutex lock;		/* before that of the registry */
	DECLARE_HASHTABLE(names, NAME_BITS);
	unsigned int nr;
	struct dentry *dir, *file;
} controls = {
	.tree = __MUTEX_INITIALIZER(controls.tree),
	.lock = __MUTEX_INITIALIZER(controls.lock),
};

static u32 hash(const char *name)
{
	return jhash(name, strlen(name), 0);
}

static struct marker_control *find_control(const char *name)
{
	struct marker_control *control;

	hash_for_each_possible(controls.names, control, node, hash(name))
		if (!strcmp(control->name, name))
			return control;
	return NULL;
}

static int check_format(void *unused, const struct marker *marker)
{
	if (!format_check(marker->format))
		return 0;
	pr_info("%s in %s(): format cannot be printed, not traced\n", marker->name,
		marker->func);
	return -EINVAL;
}

/* What a probe needs before it may be connected. */
static int prepare(struct marker_control *control, unsigned int builtin)
{
	int cpu;

	if (builtin == CONTROL_TRACE)
		return markers_for_each(control->name, NULL, check_format, NULL);
	if (!control->hits)
		control->hits = alloc_percpu(unsigned long);
	if (!control->hits)
		return -ENOMEM;
	for_each_possible_cpu(cpu)
		*per_cpu_ptr(control->hits, cpu) = 0;
	return 0;
}

/* What one CPU adds, others need not see. */
static void probe_count(void *private, void *call_private, const char *fmt, va_list *args)
{
	struct marker_control *control = private;

	this_cpu_inc(*control->hits);
}

static void fill_link(struct marker_link *link, struct marker_control *control,
		      unsigned int builtin)
{
	link->name = control->name;
	link->func = builtin == CONTROL_TRACE ? probe_trace : probe_count;
	link->private = control;
}

/* As many links as @which has probes that are, or are not, connected. */
static unsigned int add_links(struct marker_link *links, struct marker_control *control,
			      unsigned int which)
{
	unsigned int bit, nr = 0;

	for (bit = CONTROL_TRACE; bit <= CONTROL_COUNT; bit <<= 1)
		if (which & bit)
			fill_link(&links[nr++], control, bit);
	return nr;
}

static int connect(struct marker_control **names, unsigned int nr, struct marker_link *links,
		   unsigned int builtin)
{
	unsigned int i, count = 0;
	int err = 0;

	for (i = 0; i < nr && !err; i++) {
		if (names[i]->builtins & builtin)
			continue;
		err = prepare(names[i], builtin);
		fill_link(&links[count++], names[i], builtin);
	}
	if (!err && builtin == CONTROL_TRACE)
		err = event_enable();
	if (!err && count)
		err = markers_connect_many(links, count);
	for (i = 0; i < nr && !err; i++)
		names[i]->builtins |= builtin;
	return err;
}

/* On return no probe that was disconnected runs any more. */
static int disconnect(struct marker_control **names, unsigned int nr, struct marker_link *links,
		      unsigned int builtins)
{
	unsigned int i, count = 0;
	int err;

	for (i = 0; i < nr; i++)
		count += add_links(&links[count], names[i], names[i]->builtins & builtins);
	if (!count)
		return 0;
	err = markers_disconnect_many(links, count);
	if (err)
		return err;
	marker_synchronize_unregister();
	for (i = 0; i < nr; i++)
		names[i]->builtins &= ~builtins;
	return 0;
}

/* For all of the names or, with an error, for none. */
static int apply(struct marker_control **names, unsigned int nr,
		 const struct control_command *command)
{
	struct marker_link *links;
	int err;

	lockdep_assert_held(&controls.lock);
	links = kvcalloc(nr, 2 * sizeof(*links), GFP_KERNEL);
	if (!links)
		return -ENOMEM;
	if (command->add)
		err = connect(names, nr, links, command->add);
	else
		err = disconnect(names, nr, links, command->del);
	kvfree(links);
	return err;
}

/* -ENODEV: its last marker left while the file was being written. */
int control_apply(struct marker_control *control, const struct control_command *command)
{
	int err = -ENODEV;

	mutex_lock(&controls.lock);
	if (!hlist_unhashed(&control->node))
		err = apply(&control, 1, command);
	mutex_unlock(&controls.lock);
	return err;
}

bool control_is_connected(struct marker_control *control, unsigned int builtin)
{
	return READ_ONCE(control->builtins) & builtin;
}

static int apply_to_matching(const char *pattern, const struct control_command *command)
{
	struct marker_control *control, **names;
	unsigned int nr = 0;
	int bucket, err;

	lockdep_assert_held(&controls.lock);
	names = kvcalloc(controls.nr + 1, sizeof(*names), GFP_KERNEL);
	if (!names)
		return -ENOMEM;
	hash_for_each(controls.names, bucket, control, node)
		if (glob_match(pattern, control->name))
			names[nr++] = control;
	err = nr ? apply(names, nr, command) : -ENOENT;
	kvfree(names);
	return err;
}

static int run(const struct control_request *request)
{
	int err;

	if (request->verb == CONTROL_ATTACH)
		return function_attach(request->object, request->name);
	if (request->verb == CONTROL_DETACH)
		return function_detach(request->object);
	mutex_lock(&controls.lock);
	err = apply_to_matching(request->object, request->command);
	mutex_unlock(&controls.lock);
	return err;
}

static ssize_t control_write(struct file *file, const char __user *buf, size_t count, loff_t *ppos)
{
	char *line = patcher_read_line(buf, count, CONTROL_LINE);
	struct control_request request;
	int err;

	if (IS_ERR(line))
		return PTR_ERR(line);
	err = control_parse(line, &request) ?: run(&request);
	kfree(line);
	return err ?: count;
}

static const struct file_operations control_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = control_write,
	.llseek = noop_llseek,
};

static int add_control(void *data, const struct marker *marker)
{
	struct marker_control *control;
	struct list_head *new = data;

	if (find_control(marker->name))
		return 0;
	control = kzalloc(sizeof(*control) + strlen(marker->name) + 1, GFP_KERNEL);
	if (!control)
		return -ENOMEM;
	strcpy(control->name, marker->name);
	hash_add(controls.names, &control->node, hash(control->name));
	controls.nr++;
	list_add_tail(&control->list, new);
	return 0;
}

/**
 * control_names_come() - make controls for names that have none
 * @module: the module whose markers were added
 *
 * Context: may sleep.
 * Return: 0, or -ENOMEM with controls for some.
 */
int control_names_come(struct module *module)
{
	struct marker_control *control, *next;
	LIST_HEAD(new);
	int err;

	mutex_lock(&controls.tree);
	mutex_lock(&controls.lock);
	err = markers_for_each(NULL, module, add_control, &new);
	mutex_unlock(&controls.lock);
	list_for_each_entry_safe(control, next, &new, list) {
		list_del(&control->list);
		files_create(control, controls.dir);
	}
	mutex_unlock(&controls.tree);
	return err;
}

static int is_there(void *data, const struct marker *marker)
{
	return 1;
}

static void collect_gone(struct list_head *gone)
{
	struct marker_control *control;
	struct hlist_node *next;
	int bucket;

	hash_for_each_safe(controls.names, bucket, next, control, node) {
		if (markers_for_each(control->name, NULL, is_there, NULL))
			continue;
		hash_del(&control->node);	/* from now on nothing is connected */
		controls.nr--;
		list_add_tail(&control->list, gone);
	}
}

static void forget(struct list_head *gone)
{
	struct marker_control *control;
	struct marker_link links[2];
	unsigned int i, nr, sum = 0;

	list_for_each_entry(control, gone, list) {
		nr = add_links(links, control, control->builtins);
		for (i = 0; i < nr; i++)
			marker_probe_unregister(links[i].name, links[i].func, links[i].private);
		sum += nr;
	}
	if (sum)
		marker_synchronize_unregister();
}

/**
 * control_names_go() - remove the controls of names that have no marker any more
 *
 * Context: may sleep; waits for operations on their files.
 */
void control_names_go(void)
{
	struct marker_control *control, *next;
	LIST_HEAD(gone);

	mutex_lock(&controls.tree);
	mutex_lock(&controls.lock);
	collect_gone(&gone);
	forget(&gone);
	mutex_unlock(&controls.lock);
	list_for_each_entry_safe(control, next, &gone, list) {
		debugfs_remove_recursive(control->dir);
		free_percpu(control->hits);
		kfree(control);
	}
	mutex_unlock(&controls.tree);
}

void control_init(struct dentry *dir)
{
	controls.dir = dir;
	controls.file = debugfs_create_file("control", 0200, dir, NULL, &control_fops);
}

/* On return nobody attaches a marker any more. */
void control_exit(void)
{
	debugfs_remove(controls.file);
}
