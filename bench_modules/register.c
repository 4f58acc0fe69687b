// SPDX-License-Identifier: GPL-2.0-only
/* Add and remove benchmark groups that other modules define. */
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
	/* The debugfs directory of a group must not have the name of an existing file in bench/. */
	return bench_is_file_name_used(name);
}

static int find_free_group_slot(void)
{
	unsigned int i;

	for (i = 0; i < BENCH_MAX_GROUPS; i++)
		if (!bench_groups[i])
			return i;
	return -ENOSPC;
}

/*
 * Return the index of a free slot for a group, or an error.  If the module is in
 * MODULE_STATE_GOING, return -ENODEV, because remove_groups_of_unloaded_module() may already have
 * removed the groups of the module.
 */
static int choose_group_slot(const struct bench_group *group, const struct module *module)
{
	if (READ_ONCE(module->state) == MODULE_STATE_GOING)
		return -ENODEV;
	return is_group_name_taken(group->name) ? -EEXIST : find_free_group_slot();
}

/**
 * bench_add_group() - add a benchmark group that another module defines
 * @group: the group; must stay valid until bench_remove_group()
 * @module: THIS_MODULE
 *
 * Context: may sleep; must not be called from a function of a group.
 * Return: 0; -EINVAL if the group is not valid, after logging the reason; -EEXIST if its name is
 * taken; -ENODEV if @module is in MODULE_STATE_GOING; or -ENOSPC if there is no free slot.
 */
int bench_add_group(const struct bench_group *group, struct module *module)
{
	const char *why = bench_find_group_error(group);
	int slot;

	if (why) {
		pr_err("module %s: benchmark %s is not added: %s\n", module->name,
		       group->name ?: "(null)", why);
		return -EINVAL;
	}
	mutex_lock(&bench_session.lock);
	slot = choose_group_slot(group, module);
	if (slot >= 0) {
		bench_set_group_owner(slot, module);
		bench_groups[slot] = group;
		bench_nr_groups = max_t(unsigned int, bench_nr_groups, slot + 1);
		bench_create_group_files(slot);
	}
	mutex_unlock(&bench_session.lock);
	if (slot < 0)
		pr_err("module %s: benchmark %s is not added: error %d\n", module->name,
		       group->name, slot);
	return slot < 0 ? slot : 0;
}
EXPORT_SYMBOL_GPL(bench_add_group);

/**
 * bench_remove_group() - remove a group that bench_add_group() added, and free its samples
 * @group: the group; a run that includes it is stopped
 *
 * Context: may sleep; must not be called from a function of a group.
 */
void bench_remove_group(const struct bench_group *group)
{
	unsigned int i;

	for (i = 0; i < BENCH_MAX_GROUPS; i++)
		if (READ_ONCE(bench_groups[i]) == group)
			break;
	if (i == BENCH_MAX_GROUPS)
		return;
	/*
	 * Do not hold the lock here: bench_remove_group_files() waits for readers of the files, and
	 * the readers take the lock.
	 */
	bench_remove_group_files(group);
	mutex_lock(&bench_session.lock);
	bench_clear_group_slot(i);
	bench_set_group_owner(i, NULL);
	mutex_unlock(&bench_session.lock);
}
EXPORT_SYMBOL_GPL(bench_remove_group);

/*
 * Module notifier: in MODULE_STATE_GOING, remove and report the groups that the module did not
 * remove.
 */
static int remove_groups_of_unloaded_module(struct notifier_block *nb, unsigned long event,
					    void *data)
{
	const struct bench_group *group;
	struct module *module = data;
	unsigned int i;

	for (i = 0; i < BENCH_MAX_GROUPS && event == MODULE_STATE_GOING; i++) {
		group = bench_get_group_owner(i) == module ? READ_ONCE(bench_groups[i]) : NULL;
		if (!group)
			continue;
		pr_warn("module %s: did not call bench_remove_group() for benchmark %s; the benchmark is removed now, because the module's code is freed\n",
			module->name, group->name);
		bench_remove_group(group);
	}
	return NOTIFY_OK;
}

static struct notifier_block module_notifier = {
	.notifier_call = remove_groups_of_unloaded_module,
};

int bench_register_module_notifier(void)
{
	return register_module_notifier(&module_notifier);
}

void bench_unregister_module_notifier(void)
{
	unregister_module_notifier(&module_notifier);
}
