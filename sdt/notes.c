// SPDX-License-Identifier: GPL-2.0-only
/*
 * Register the SDT notes of a module.  A note has no instruction of its own, and is armed by a
 * kprobe at the next instruction.  A note is unarmable in three cases: no instruction of the
 * function follows the note; a conditional jump that skips the note leads to the instruction with
 * the kprobe; or the location of an argument cannot be decoded.  A module with unarmable notes is
 * loaded nevertheless.
 */
#include <linux/elf.h>
#include <linux/errno.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>

#include <kmarkers/search.h>

#include "notes.h"
#include "operands.h"
#include "registry.h"
#include "tables.h"

static const char behind_its_function[] = "no instruction of its function follows the note";
static const char alone_in_its_branch[] = "the note is in a branch without instructions";
static const char unreadable[] = "the location of an argument cannot be decoded";

static int check_note_record(struct module *module, const struct sdt_note_record *record)
{
	const struct patcher_site *site = &record->site;
	unsigned long addr = patcher_site_addr(site);

	if (site->size != SDT_NOTE || site->len || sdt_count_args(site) > SDT_MAX_ARGS ||
	    site->flags & ((1 << SDT_ARGS_SHIFT) - 1) ||
	    !within_module_core((unsigned long)sdt_get_note_codes(record), module))
		return -EINVAL;
	return compat_is_in_module_text(module, addr) ? 0 : -EPERM;
}

static int check_note_records(const struct sdt_table *table)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < table->sites.nr && !err; i++)
		err = check_note_record(table->sites.module, sdt_get_note_record(table, i));
	return err;
}

static int compare_note_records(const void *a, const void *b)
{
	const struct sdt_note_record *x = a, *y = b;
	unsigned long p = patcher_site_addr(&x->site), q = patcher_site_addr(&y->site);

	return p < q ? -1 : p > q;
}

static void adjust_record_offsets(struct sdt_note_record *record, s32 moved_bytes)
{
	record->site.addr -= moved_bytes;
	record->site.key -= moved_bytes;
	record->codes -= moved_bytes;
}

/* Swap two records for sort(), and adjust the offsets in the records, which are relative. */
static void swap_note_records(void *a, void *b, int size)
{
	struct sdt_note_record *x = a, *y = b, tmp = *x;
	s32 distance = (long)y - (long)x;

	*x = *y;
	adjust_record_offsets(x, -distance);
	*y = tmp;
	adjust_record_offsets(y, distance);
}

static __always_inline unsigned long get_note_addr(const void *records, unsigned int i)
{
	return patcher_site_addr(&((const struct sdt_note_record *)records)[i].site);
}

/*
 * Mark as armable each SDT note of @table that lies inside @function: clear the reason in the state
 * of the note.
 */
static void mark_notes_in_function_armable(struct sdt_table *table, const Elf_Sym *function)
{
	const void *records = table->sites.sites;
	unsigned int i = kmarkers_lower_bound(records, table->sites.nr, function->st_value,
					      get_note_addr);

	for (; i < table->sites.nr; i++) {
		if (get_note_addr(records, i) >= function->st_value + function->st_size)
			break;
		table->notes[i].reason = NULL;
	}
}

/* True for the symbol of a function. A symbol __pfx_NAME stands for padding before a function. */
static bool is_function_symbol(const struct mod_kallsyms *syms, const Elf_Sym *symbol)
{
	return ELF_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF &&
	       strncmp(syms->strtab + symbol->st_name, "__pfx_", strlen("__pfx_"));
}

/*
 * Mark all SDT notes of @table that lie inside functions as armable.  No lock is needed: the
 * module's init function has not run yet, and the kernel changes the symbol table only afterwards.
 */
static void mark_notes_in_functions_armable(struct sdt_table *table)
{
	const struct mod_kallsyms *syms = rcu_dereference_raw(table->sites.module->kallsyms);
	unsigned int i;

	for (i = 1; i < syms->num_symtab; i++)
		if (is_function_symbol(syms, &syms->symtab[i]))
			mark_notes_in_function_armable(table, &syms->symtab[i]);
}

/*
 * True if an instruction begins at @addr. register_kprobe() refuses any other address: it decodes
 * the function from its start up to @addr.
 */
static bool is_instruction_start(unsigned long addr)
{
	struct kprobe kp = {
		.addr = (kprobe_opcode_t *)addr,
		.flags = KPROBE_FLAG_DISABLED,
	};

	if (register_kprobe(&kp))
		return false;
	unregister_kprobe(&kp);
	return true;
}

/*
 * True if the instruction before the SDT note is a conditional jump with displacement 0.  Whether
 * or not the jump is taken, the instruction after the note is executed.  So a kprobe at this
 * instruction would also count executions in which the jump skips the note.
 */
static bool is_note_after_jump_by_zero(struct module *module, unsigned long addr)
{
	const u8 *before = (const u8 *)addr - 2;

	/* The bytes before the module's text might be unmapped. */
	return compat_is_in_module_text(module, addr - 2) &&
	       (before[0] & 0xf0) == 0x70 && !before[1] &&
	       is_instruction_start((unsigned long)before);
}

/* True if the locations of an SDT note's arguments can all be decoded. */
static bool can_decode_arguments(const struct sdt_note_record *record)
{
	unsigned int i, nr = sdt_count_args(&record->site);
	const u8 *codes = sdt_get_note_codes(record);
	struct sdt_operand operand;

	for (i = 0; i < nr && codes; i++)
		codes = sdt_decode_operand(codes, &operand);
	return codes;
}

/*
 * Set the field "reason" of each unarmable SDT note of @table, and clear this field of all other
 * notes.
 */
static void find_unarmable_notes(struct sdt_table *table)
{
	unsigned int i;

	for (i = 0; i < table->sites.nr; i++)
		table->notes[i].reason = behind_its_function;
	mark_notes_in_functions_armable(table);
	for (i = 0; i < table->sites.nr; i++) {
		const struct sdt_note_record *record = sdt_get_note_record(table, i);

		if (table->notes[i].reason)
			continue;
		if (!can_decode_arguments(record))
			table->notes[i].reason = unreadable;
		else if (is_note_after_jump_by_zero(table->sites.module,
						    patcher_site_addr(&record->site)))
			table->notes[i].reason = alone_in_its_branch;
	}
}

static int check_sort_and_register_notes(struct sdt_table *table)
{
	unsigned int nr = table->sites.nr;
	int err;

	table->notes = kvcalloc(nr, sizeof(*table->notes), GFP_KERNEL);
	if (!table->notes)
		return -ENOMEM;
	err = check_note_records(table);
	if (err)
		return err;
	sort(table->sites.sites, nr, sizeof(struct sdt_note_record), compare_note_records,
	     swap_note_records);
	find_unarmable_notes(table);
	return sdt_register_table(table);
}

/**
 * sdt_register_notes() - register the SDT notes of a module
 * @module: the module being loaded
 * @span: the records of the notes
 *
 * Context: may sleep; no code of @module runs yet.
 * Return: 0; -EINVAL for a malformed table; -EPERM for a note in init text, which is freed after
 * init; -ENOMEM, or an error of sdt_enable_sites_with_handlers().
 */
int sdt_register_notes(struct module *module, const struct kmarkers_span *span)
{
	int err, nr = kmarkers_count_records(span, sizeof(struct sdt_note_record));
	struct sdt_table *table;

	if (nr <= 0)
		return nr;
	table = sdt_alloc_table(module, span->first, nr);
	if (!table)
		return -ENOMEM;
	err = check_sort_and_register_notes(table);
	if (err)
		sdt_free_table(table);
	return err;
}
