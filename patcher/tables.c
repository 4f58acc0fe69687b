// SPDX-License-Identifier: GPL-2.0-only
/* Finding the tables of a module that is being loaded: see <kmarkers/table.h>. */
#include <linux/elf.h>
#include <linux/errno.h>
#include <linux/kallsyms.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/string.h>

#include <kmarkers/patcher.h>
#include <kmarkers/version.h>

/**
 * patcher_table_param() - refuse to set a parameter that stands for a table
 * @value: the new value
 * @param: the parameter
 *
 * Return: -EINVAL.
 */
int patcher_table_param(const char *value, const struct kernel_param *param)
{
	pr_err("parameter %s only locates a table of the module and cannot be set\n", param->name);
	return -EINVAL;
}
EXPORT_SYMBOL_GPL(patcher_table_param);

static bool holds(struct module *module, const void *start, unsigned long bytes)
{
	unsigned long first = (unsigned long)start, last = first + bytes - 1;

	return last >= first && within_module_core(first, module) &&
	       within_module_core(last, module);
}

/* The version is at the same offset in the head in every version of tables. */
static int check_head(struct module *module, const struct kmarkers_chunk *chunk, const void *needs)
{
	if (!holds(module, chunk, sizeof(*chunk)) || chunk->needs != (unsigned long)needs)
		return -EINVAL;
	if (chunk->version == KMARKERS_TABLE_VERSION)
		return 0;
	pr_err("%s: compiled with tables of version %u, needed is version %u: compile it again\n",
	       module->name, chunk->version, KMARKERS_TABLE_VERSION);
	return -ENOEXEC;
}

static int add_chunk(struct module *module, const struct kmarkers_chunk *chunk, const void *needs,
		     unsigned int record, struct kmarkers_span *span)
{
	int err = check_head(module, chunk, needs);

	if (!err && chunk->bytes && !holds(module, kmarkers_chunk_first(chunk), chunk->bytes))
		err = -EINVAL;
	return err ?: kmarkers_join(span, chunk, record);
}

/**
 * patcher_find_records() - find the records of one kind in a module that is being loaded
 * @module: a module in MODULE_STATE_COMING
 * @kind: KMARKERS_SYMBOL(kind)
 * @needs: the symbol that the heads of these records refer to
 * @record: bytes of a record
 * @span: filled in; empty if there are no records
 *
 * Return: 0; -ENOEXEC if the records were compiled by another version, with a line
 * in the log; -EINVAL if a head is malformed.
 */
int patcher_find_records(struct module *module, const char *kind, const void *needs,
			 unsigned int record, struct kmarkers_span *span)
{
	unsigned int i;
	int err = 0;

	memset(span, 0, sizeof(*span));
	for (i = 0; i < module->num_kp && !err; i++)
		if (!strcmp(module->kp[i].name, kind))
			err = add_chunk(module, module->kp[i].arg, needs, record, span);
	return err;
}
EXPORT_SYMBOL_GPL(patcher_find_records);

/*
 * Does a module refer to a symbol of another module?  Relocations need the symbol, so
 * strip(1) keeps it, and the kernel still has it in MODULE_STATE_COMING.
 */
static bool refers_to(struct module *module, const void *symbol)
{
	const struct mod_kallsyms *syms = rcu_dereference_raw(module->kallsyms);
	unsigned int i;

	for (i = 1; i < syms->num_symtab; i++)
		if (syms->symtab[i].st_shndx == SHN_UNDEF &&
		    syms->symtab[i].st_value == (unsigned long)symbol)
			return true;
	return false;
}

/**
 * patcher_check_tables() - check that a module without records is meant to have none
 * @module: a module in MODULE_STATE_COMING in which no records of any kind were found
 * @needs: the symbol that heads of its tables would refer to
 *
 * Return: 0; -ENOEXEC if the module has tables that cannot be found, with a line in
 * the log: its sites would stay as they were compiled.
 */
int patcher_check_tables(struct module *module, const void *needs)
{
	if (!refers_to(module, needs))
		return 0;
	pr_err("%s: its tables cannot be found: compiled with tables of version 1, or without its section __param: compile it again\n",
	       module->name);
	return -ENOEXEC;
}
EXPORT_SYMBOL_GPL(patcher_check_tables);

/**
 * patcher_check_version() - refuse a module of kmarkers that is of another version
 * @module: the module that is being loaded
 * @version: KMARKERS_VERSION that it was compiled with
 *
 * Symbol versions distinguish modules only if declarations that they share have changed.
 *
 * Context: process context.
 * Return: 0; -ENOEXEC if the versions differ, with a line in the log that names both.
 */
int patcher_check_version(struct module *module, const char *version)
{
	if (!strcmp(version, KMARKERS_VERSION))
		return 0;
	pr_err("%s is version %s, but version %s is loaded: unload all modules of kmarkers first\n",
	       module->name, version, KMARKERS_VERSION);
	return -ENOEXEC;
}
EXPORT_SYMBOL_GPL(patcher_check_version);
