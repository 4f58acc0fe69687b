// SPDX-License-Identifier: GPL-2.0-only
/* Add and remove groups of other modules. */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/printk.h>
#include <linux/string.h>

#include "dormant.h"
#include "files.h"
#include "groups.h"
#include "register.h"
#include "thread.h"

static bool is_group_name_taken(const char *name)
{
	unsigned int i;

	for (i = 0; i < bench_nr_groups; i++)
		if (bench_groups[i] && !strcmp(bench_groups[i]->name, name))
			return true;
	/* A group's directory must not have the name of a file in bench/. */
	return bench_files_has(name);
}

static int free_place(void)
{
	unsigned int i;

	for (i = 0; i < BENCH_MAX_GROUPS; i++)
		if (!bench_groups[i])
			return i;
	return -ENOSPC;
}

/*
 * Find a place for a group.  One of a module that leaves gets none: its parameters can be written
 * until it is freed, and handle_bench_module() has looked for its groups before.
 */
static int choose_place(const struct bench_group *group, const struct module *module)
{
	if (READ_ONCE(module->state) == MODULE_STATE_GOING)
		return -ENODEV;
	return is_group_name_taken(group->name) ? -EEXIST : free_place();
}

/**
 * bench_add_group() - add a group of a module to the benchmarks
 * @group: the group; it stays where it is until bench_remove_group()
 * @module: THIS_MODULE
 *
 * Context: may sleep; not in a function of a group.
 * Return: 0, -EINVAL after the log says why the group cannot be used, -EEXIST if its name is
 * taken, -ENODEV if @module is leaving, or -ENOSPC.
 */
int bench_add_group(const struct bench_group *group, struct module *module)
{
	const char *why = bench_why_not(group);
	int place;

	if (why) {
		pr_err("%s: benchmark %s: %s\n", module->name, group->name ?: "(null)", why);
		return -EINVAL;
	}
	mutex_lock(&bench_session.lock);
	place = choose_place(group, module);
	if (place >= 0) {
		bench_dormant_own(place, module);
		bench_groups[place] = group;
		bench_nr_groups = max_t(unsigned int, bench_nr_groups, place + 1);
		bench_files_add(place);
	}
	mutex_unlock(&bench_session.lock);
	if (place < 0)
		pr_err("%s: benchmark %s is not added: error %d\n", module->name, group->name, place);
	return place < 0 ? place : 0;
}
EXPORT_SYMBOL_GPL(bench_add_group);

/**
 * bench_remove_group() - remove a group that bench_add_group() added, and its samples
 * @group: the group; a run that measures it ends
 *
 * Context: may sleep; not in a function of a group.
 */
void bench_remove_group(const struct bench_group *group)
{
	unsigned int i;

	for (i = 0; i < BENCH_MAX_GROUPS; i++)
		if (READ_ONCE(bench_groups[i]) == group)
			break;
	if (i == BENCH_MAX_GROUPS)
		return;
	/* Not under the lock, which their readers take. */
	bench_files_remove(group);
	mutex_lock(&bench_session.lock);
	bench_drop_group(i);
	bench_dormant_own(i, NULL);
	mutex_unlock(&bench_session.lock);
}
EXPORT_SYMBOL_GPL(bench_remove_group);

/* Remove and report the groups that an unloading module did not remove itself. */
static int handle_bench_module(struct notifier_block *nb, unsigned long event, void *data)
{
	const struct bench_group *group;
	struct module *module = data;
	unsigned int i;

	for (i = 0; i < BENCH_MAX_GROUPS && event == MODULE_STATE_GOING; i++) {
		group = bench_dormant_owner(i) == module ? READ_ONCE(bench_groups[i]) : NULL;
		if (!group)
			continue;
		pr_warn("%s left its benchmark %s added: removed\n", module->name, group->name);
		bench_remove_group(group);
	}
	return NOTIFY_OK;
}

static struct notifier_block module_notifier = { .notifier_call = handle_bench_module };

int bench_register_init(void)
{
	return register_module_notifier(&module_notifier);
}

void bench_register_exit(void)
{
	unregister_module_notifier(&module_notifier);
}
