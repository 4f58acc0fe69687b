// SPDX-License-Identifier: GPL-2.0-only
/* Look up symbols of addresses in the program's file, as kallsyms does in the kernel. */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../sdt/symbol.h"
#include "failure.h"
#include "program.h"

/*
 * Return the section header of the symbol table; NULL if there is none or the file cannot be read.
 */
static const Elf64_Shdr *find_symbol_table(const struct native_program *program)
{
	const Elf64_Ehdr *header = (const void *)program->file;
	const Elf64_Shdr *section;
	unsigned int i;

	if (!header || header->e_shoff > program->size ||
	    header->e_shnum > (program->size - header->e_shoff) / sizeof(*section))
		return NULL;
	section = (const void *)(program->file + header->e_shoff);
	for (i = 0; i < header->e_shnum; i++)
		if (section[i].sh_type == SHT_SYMTAB)
			return &section[i];
	return NULL;
}

static const Elf64_Sym *find_function_symbol(const char *file, const Elf64_Shdr *symbols,
					     unsigned long addr)
{
	const Elf64_Sym *symbol = (const void *)(file + symbols->sh_offset);
	unsigned long i;

	for (i = 0; i < symbols->sh_size / sizeof(*symbol); i++)
		if (ELF64_ST_TYPE(symbol[i].st_info) == STT_FUNC && symbol[i].st_value <= addr &&
		    addr - symbol[i].st_value < symbol[i].st_size)
			return &symbol[i];
	return NULL;
}

int sdt_require_symbols(void)
{
	const struct native_program *program = native_get_program();

	if (!program->file)
		return native_report_failure("cannot find sites by function: the program's file cannot be read",
					     -EOPNOTSUPP);
	return find_symbol_table(program) ? 0 :
	       native_report_failure("cannot find sites by function: the program has no symbols",
				     -EOPNOTSUPP);
}

unsigned long sdt_find_function_name(unsigned long addr, char *name, size_t size)
{
	const struct native_program *program = native_get_program();
	const Elf64_Shdr *symbols = find_symbol_table(program), *names;
	const Elf64_Sym *symbol = NULL;

	addr -= program->info.dlpi_addr;
	if (symbols)
		symbol = find_function_symbol(program->file, symbols, addr);
	if (!symbol) {
		snprintf(name, size, "?");
		return addr + program->info.dlpi_addr;
	}
	names = (const Elf64_Shdr *)(program->file + ((const Elf64_Ehdr *)program->file)->e_shoff) +
		symbols->sh_link;
	snprintf(name, size, "%s", program->file + names->sh_offset + symbol->st_name);
	name[strcspn(name, ".")] = '\0';
	return addr - symbol->st_value;
}
