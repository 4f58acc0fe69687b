// SPDX-License-Identifier: GPL-2.0-only
/* Find the tables of a module that is being loaded.  <kmarkers/table.h> describes tables. */
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
 * patcher_table_param() - refuse to set a parameter that only holds the address of a table
 * @value: the new value
 * @param: the parameter
 *
 * Return: -EINVAL.
 */
int patcher_table_param(const char *value, const struct kernel_param *param)
{
	pr_err("parameter %s only holds the address of a table and cannot be set\n", param->name);
	return -EINVAL;
}
EXPORT_SYMBOL_GPL(patcher_table_param);

static bool is_in_module(struct module *module, const void *start, unsigned long bytes)
{
	unsigned long first = (unsigned long)start, last = first + bytes - 1;

	return last >= first && within_module_core(first, module) &&
	       within_module_core(last, module);
}

/*
 * Check the head of a chunk.  A chunk is the set of records that one C file adds to a table.  In
 * all table versions, the head has the field @version at the same offset.
 */
static int check_chunk_head(struct module *module, const struct kmarkers_chunk *chunk,
			    const void *symbol)
{
	if (!is_in_module(module, chunk, sizeof(*chunk)) || chunk->needs != (unsigned long)symbol)
		return -EINVAL;
	if (chunk->version == KMARKERS_TABLE_VERSION)
		return 0;
	pr_err("module %s: compiled with table version %u, but version %u is required: compile the module again\n",
	       module->name, chunk->version, KMARKERS_TABLE_VERSION);
	return -ENOEXEC;
}

static int add_chunk_to_span(struct module *module, const struct kmarkers_chunk *chunk,
			     const void *symbol, unsigned int record_bytes,
			     struct kmarkers_span *span)
{
	int err = check_chunk_head(module, chunk, symbol);

	if (!err && chunk->bytes &&
	    !is_in_module(module, kmarkers_get_first_record(chunk), chunk->bytes))
		err = -EINVAL;
	return err ?: kmarkers_join_chunk(span, chunk, record_bytes);
}

/**
 * patcher_find_records() - find the records of one kind in a module that is being loaded
 * @module: a module in MODULE_STATE_COMING
 * @kind: name of the module parameters that point to chunks of records: KMARKERS_SYMBOL(kind)
 * @symbol: address of the symbol to which each of these chunks refers
 * @record_bytes: size of a record in bytes
 * @span: set to the first and the last record; empty if there are no records
 *
 * Return: 0; -ENOEXEC, which is logged, if the records have another table version; -EINVAL if a
 * chunk is malformed.
 */
int patcher_find_records(struct module *module, const char *kind, const void *symbol,
			 unsigned int record_bytes, struct kmarkers_span *span)
{
	unsigned int i;
	int err = 0;

	memset(span, 0, sizeof(*span));
	for (i = 0; i < module->num_kp && !err; i++)
		if (!strcmp(module->kp[i].name, kind))
			err = add_chunk_to_span(module, module->kp[i].arg, symbol, record_bytes,
						span);
	return err;
}
EXPORT_SYMBOL_GPL(patcher_find_records);

/*
 * Return true if a module refers to a symbol of another module.  The symbol is then an undefined
 * symbol in the module's symbol table.  strip(1) keeps the symbol, because relocations need it.  In
 * MODULE_STATE_COMING the symbol table is still in memory.
 */
static bool refers_to_symbol(struct module *module, const void *symbol)
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
 * patcher_refuse_lost_tables() - refuse a module whose tables cannot be found
 * @module: a module in MODULE_STATE_COMING in which the caller found no tables
 * @symbol: address of the symbol that the tables would refer to
 *
 * Return: 0; -ENOEXEC, which is logged, if the module refers to the symbol.  The module then has
 * tables, but its sites would never be patched.
 */
int patcher_refuse_lost_tables(struct module *module, const void *symbol)
{
	if (!refers_to_symbol(module, symbol))
		return 0;
	pr_err("module %s: its kmarkers tables cannot be found: it has table version 1, or lost its section __param: compile the module again\n",
	       module->name);
	return -ENOEXEC;
}
EXPORT_SYMBOL_GPL(patcher_refuse_lost_tables);

/**
 * patcher_check_version() - refuse a kmarkers module of another version than kmarkers_patcher
 * @module: the module that is being loaded
 * @version: KMARKERS_VERSION that @module was compiled with
 *
 * The symbol CRCs of CONFIG_MODVERSIONS are not sufficient, because they detect only changes of
 * shared declarations.
 *
 * Context: process context.
 * Return: 0; -ENOEXEC if the versions differ; the log shows both versions.
 */
int patcher_check_version(struct module *module, const char *version)
{
	if (!strcmp(version, KMARKERS_VERSION))
		return 0;
	pr_err("module %s has version %s, but version %s of kmarkers is loaded: unload all modules of kmarkers first\n",
	       module->name, version, KMARKERS_VERSION);
	return -ENOEXEC;
}
EXPORT_SYMBOL_GPL(patcher_check_version);
