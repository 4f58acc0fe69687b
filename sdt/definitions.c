// SPDX-License-Identifier: GPL-2.0-only
/*
 * Print the debugfs file sdt/notes. For each note (a site without an instruction of its own), the
 * file shows definitions: lines for kprobe_events, perf and bpftrace that probe the note.
 */
#include <linux/elf.h>
#include <linux/fs.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>
#include <linux/string.h>

#include "../base/symbols.h"
#include "definitions.h"
#include "note_kprobes.h"
#include "operands.h"
#include "pattern.h"
#include "registry.h"

/**
 * struct definition - the data from which the definitions of a note are printed
 * @probe: SDT probe of the note
 * @nr: number of arguments
 * @codes: encoded locations of the arguments
 * @number: number that makes the name of the note's event unique
 * @module: name of the module that contains the note
 * @function: name, address and size of the function that contains the note
 * @addr: address of the note
 */
struct definition {
	const struct sdt_probe *probe;
	unsigned int nr;
	const u8 *codes;
	unsigned int number;
	const char *module;
	const struct kmarkers_extent *function;
	unsigned long addr;
};

/* Return the number of symbols named @name that a module defines. */
static unsigned int count_symbols_named(struct module *module, const char *name)
{
	const struct mod_kallsyms *syms;
	unsigned int i, nr = 0;

	preempt_disable();
	syms = rcu_dereference_sched(module->kallsyms);
	for (i = 1; i < syms->num_symtab; i++)
		if (syms->symtab[i].st_shndx != SHN_UNDEF &&
		    !strcmp(syms->strtab + syms->symtab[i].st_name, name))
			nr++;
	preempt_enable();
	return nr;
}

/* True if at least one argument is in memory, at an address with an index register. */
static bool has_index_register(const struct definition *definition)
{
	const u8 *codes = definition->codes;
	struct sdt_operand operand;
	unsigned int i;

	for (i = 0; i < definition->nr; i++) {
		codes = sdt_decode_operand(codes, &operand);
		if (operand.memory.index != KMARKERS_NO_REGISTER)
			return true;
	}
	return false;
}

/* Print a constant with the size and sign of its type. */
static void show_constant_argument(struct seq_file *m, const struct sdt_operand *operand)
{
	unsigned int unused = 64 - 8 * operand->size;
	u64 value = (u64)operand->value << unused;

	if (operand->is_signed)
		seq_printf(m, "%lld", (s64)value >> unused);
	else
		seq_printf(m, "%llu", value >> unused);
}

/* Print an argument as a FETCHARG: see Documentation/trace/kprobetrace.rst of the kernel. */
static void show_fetcharg(struct seq_file *m, unsigned int i, const struct sdt_operand *operand)
{
	seq_printf(m, " a%u=", i);
	if (operand->kind == SDT_CONSTANT) {
		seq_putc(m, '\\');
		show_constant_argument(m, operand);
	} else if (operand->kind == SDT_IN_REGISTER) {
		seq_printf(m, "%%%s", sdt_register_names[operand->memory.base]);
	} else if (operand->memory.base == KMARKERS_NO_REGISTER) {
		seq_printf(m, "@0x%llx", operand->value);
	} else {
		seq_printf(m, "%+lld(%%%s)", operand->value,
			   sdt_register_names[operand->memory.base]);
	}
	seq_printf(m, ":%c%u", operand->is_signed ? 's' : 'u', 8 * operand->size);
}

static void show_fetchargs(struct seq_file *m, const struct definition *definition)
{
	const u8 *codes = definition->codes;
	struct sdt_operand operand;
	unsigned int i;

	for (i = 0; i < definition->nr; i++) {
		codes = sdt_decode_operand(codes, &operand);
		show_fetcharg(m, i, &operand);
	}
}

/* Print the address of an argument in memory, as an expression of bpftrace. */
static void show_bpftrace_address(struct seq_file *m, const struct sdt_operand *operand)
{
	if (operand->memory.base == KMARKERS_NO_REGISTER)
		seq_printf(m, "0x%llx", operand->value);
	else
		seq_printf(m, "reg(\"%s\") + %lld", sdt_register_names[operand->memory.base],
			   operand->value);
	if (operand->memory.index != KMARKERS_NO_REGISTER)
		seq_printf(m, " + reg(\"%s\") * %u", sdt_register_names[operand->memory.index],
			   operand->memory.scale);
}

/* Print an argument as an expression of bpftrace. */
static void show_bpftrace_expression(struct seq_file *m, const struct sdt_operand *operand)
{
	const char *type = operand->is_signed ? "int" : "uint";
	unsigned int bits = 8 * operand->size;

	seq_puts(m, ", ");
	if (operand->kind == SDT_CONSTANT) {
		show_constant_argument(m, operand);
	} else if (operand->kind == SDT_IN_REGISTER) {
		seq_printf(m, "(%s%u)reg(\"%s\")", type, bits,
			   sdt_register_names[operand->memory.base]);
	} else {
		seq_printf(m, "*(%s%u *)(", type, bits);
		show_bpftrace_address(m, operand);
		seq_putc(m, ')');
	}
}

static void show_bpftrace_command(struct seq_file *m, const struct definition *definition)
{
	const u8 *codes = definition->codes;
	struct sdt_operand operand;
	unsigned int i;

	seq_printf(m, "bpftrace -e 'kprobe:%s:%s+%lu { printf(\"%s_%u", definition->module,
		   definition->function->name, definition->addr - definition->function->start,
		   definition->probe->name, definition->number);
	for (i = 0; i < definition->nr; i++) {
		codes = sdt_decode_operand(codes, &operand);
		seq_puts(m, operand.is_signed ? " %lld" : " %llu");
	}
	seq_puts(m, "\\n\"");
	codes = definition->codes;
	for (i = 0; i < definition->nr; i++) {
		codes = sdt_decode_operand(codes, &operand);
		show_bpftrace_expression(m, &operand);
	}
	seq_puts(m, "); }'\n");
}

/*
 * Print definitions that give the function of the SDT note, and the offset of the note in this
 * function.  The printed perf command calls modinfo(8) to find the module's file.
 */
static void show_definition_by_name(struct seq_file *m, const struct definition *definition)
{
	const char *function = definition->function->name, *module = definition->module;
	unsigned long offset = definition->addr - definition->function->start;

	if (has_index_register(definition)) {
		seq_puts(m, "# kprobe_events and perf cannot add two registers to an address\n");
	} else {
		seq_printf(m, "p:%s/%s_%u %s:%s+%lu", definition->probe->provider->name,
			   definition->probe->name, definition->number, module, function, offset);
		show_fetchargs(m, definition);
		seq_printf(m, "\nperf probe -m \"$(modinfo -n %s)\" '%s:%s_%u=%s+%lu", module,
			   definition->probe->provider->name, definition->probe->name,
			   definition->number, function, offset);
		show_fetchargs(m, definition);
		seq_puts(m, "'\n");
	}
	show_bpftrace_command(m, definition);
}

/*
 * Print a definition that gives the address of the SDT note instead of its function, because
 * several functions of the module have the same name.  Print no perf or bpftrace command, because
 * such a command would probe the first function of that name.
 */
static void show_definition_by_address(struct seq_file *m, const struct definition *definition)
{
	seq_printf(m, "# several functions are named %s\n", definition->function->name);
	if (has_index_register(definition))
		return;
	seq_printf(m, "p:%s/%s_%u 0x%lx", definition->probe->provider->name,
		   definition->probe->name, definition->number, definition->addr);
	show_fetchargs(m, definition);
	seq_putc(m, '\n');
}

/**
 * struct cursor - the current SDT note while the file is read
 * @table: table of the note
 * @i: index of the note in the table
 * @function: function that contains the note; size 0 if no symbol covers the note's address
 * @namesakes: number of symbols in the module that have the name of @function
 * @place: full name of the note
 */
struct cursor {
	const struct sdt_table *table;
	unsigned int i;
	struct kmarkers_extent function;
	unsigned int namesakes;
	struct sdt_place place;
};

/*
 * Look up the name of the current SDT note.  If the function of the previous note also contains
 * this note, reuse this function, because looking up a function is slow.
 */
static void look_up_note_name(struct cursor *cursor)
{
	const struct sdt_table *table = cursor->table;
	const struct patcher_site *site = sdt_get_site(table, cursor->i);
	struct kmarkers_extent *function = &cursor->function;
	unsigned long addr = patcher_site_addr(site);

	if (addr - function->start < function->size) {
		sdt_make_name_in_same_function(&cursor->place, table, site, addr - function->start);
		return;
	}
	sdt_make_site_name(&cursor->place, table, site);
	if (kmarkers_find_symbol_extent(addr, function))
		function->size = 0;
	else
		cursor->namesakes = count_symbols_named(table->sites.module, function->name);
}

static int show_note(struct seq_file *m, void *v)
{
	struct cursor *cursor = v;
	const struct sdt_table *table = cursor->table;
	const struct sdt_note_record *record = sdt_get_note_record(table, cursor->i);
	const struct sdt_place *place = &cursor->place;
	struct definition definition = {
		.probe = sdt_get_probe(&record->site),
		.nr = sdt_count_args(&record->site),
		.codes = sdt_get_note_codes(record),
		.number = table->number + cursor->i,
		.module = module_name(table->sites.module),
		.function = &cursor->function,
		.addr = patcher_site_addr(&record->site),
	};

	look_up_note_name(cursor);
	seq_printf(m, "# %s:%s:%s:%s %s@+0x%lx missed %lu\n", place->part[SDT_PROVIDER],
		   place->part[SDT_MODULE], place->part[SDT_FUNCTION], place->part[SDT_NAME],
		   place->function, place->offset, sdt_count_missed_hits(&table->notes[cursor->i]));
	if (sdt_note_is_unarmable(table, cursor->i))
		seq_printf(m, "# unarmable: %s\n", table->notes[cursor->i].reason);
	else if (!cursor->function.size)
		seq_puts(m, "# no symbol covers the address of this note\n");
	else if (cursor->namesakes == 1)
		show_definition_by_name(m, &definition);
	else
		show_definition_by_address(m, &definition);
	return 0;
}

/* Move the cursor forward by @skip SDT notes.  Return NULL if fewer than @skip notes follow. */
static struct cursor *move_note_cursor(struct cursor *cursor, loff_t skip)
{
	list_for_each_entry_from(cursor->table, &sdt_registry.tables, node) {
		unsigned int nr = cursor->table->notes ? cursor->table->sites.nr : 0;

		if (cursor->i + skip < nr) {
			cursor->i += skip;
			return cursor;
		}
		skip -= nr - cursor->i;
		cursor->i = 0;
	}
	return NULL;
}

/*
 * Walk from the first SDT note to note *@pos, because tables may have changed since the last read.
 */
static void *start_note_walk(struct seq_file *m, loff_t *pos)
{
	struct cursor *cursor = m->private;

	mutex_lock(&sdt_registry.lock);
	memset(cursor, 0, sizeof(*cursor));
	cursor->table = list_first_entry(&sdt_registry.tables, struct sdt_table, node);
	return move_note_cursor(cursor, *pos);
}

static void *go_to_next_note(struct seq_file *m, void *v, loff_t *pos)
{
	++*pos;
	return move_note_cursor(v, 1);
}

static void stop_note_walk(struct seq_file *m, void *v)
{
	mutex_unlock(&sdt_registry.lock);
}

static const struct seq_operations operations = {
	.start = start_note_walk,
	.next = go_to_next_note,
	.stop = stop_note_walk,
	.show = show_note,
};

static int open_notes_file(struct inode *inode, struct file *file)
{
	return seq_open_private(file, &operations, sizeof(struct cursor));
}

/* Operations of the file sdt/notes, which shows a comment line and definitions for each note. */
const struct file_operations sdt_notes_fops = {
	.owner = THIS_MODULE,
	.open = open_notes_file,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = seq_release_private,
};
