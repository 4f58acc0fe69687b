// SPDX-License-Identifier: GPL-2.0-only
/*
 * Find the function symbol of each site of a module, once, when the sites are registered.  For each
 * lookup by address, the kernel would search all symbols of the module.  Here the function symbols
 * are sorted, and then walked in parallel with the sites.
 */
#include <linux/elf.h>
#include <linux/errno.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>

#include "names.h"

/* Prefix of the symbols that the kernel's build adds for the padding before a function. */
#define PADDING	"__pfx_"

/**
 * struct function_symbol - a function symbol of a module
 * @addr: address of the first byte of the function
 * @index: index of the symbol in the module's symbol table
 * @name: position of the symbol's name in the module's string table
 */
struct function_symbol {
	unsigned long addr;
	u32 index;
	u32 name;
};

static bool is_named_function_symbol(const struct mod_kallsyms *symbols, const Elf_Sym *symbol)
{
	const char *name = symbols->strtab + symbol->st_name;

	return ELF_ST_TYPE(symbol->st_info) == STT_FUNC && *name &&
	       strncmp(name, PADDING, sizeof(PADDING) - 1);
}

/*
 * Compare two symbols by address, then by position in the string table, where local symbols usually
 * precede global ones.
 */
static int compare_function_symbols(const void *a, const void *b)
{
	const struct function_symbol *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* Collect the function symbols; if @found is NULL, only count them.  Return their number. */
static unsigned int collect_function_symbols(struct function_symbol *found,
					     const struct mod_kallsyms *symbols)
{
	unsigned int i, nr = 0;

	for (i = 1; i < symbols->num_symtab; i++) {
		const Elf_Sym *symbol = &symbols->symtab[i];

		if (!is_named_function_symbol(symbols, symbol))
			continue;
		if (found)
			found[nr] = (struct function_symbol) {
				symbol->st_value, i, symbol->st_name,
			};
		nr++;
	}
	return nr;
}

/*
 * Store for each site the index of the last function symbol at or before the site, or 0.  Of
 * several symbols with the same address, take the first in the order of compare_function_symbols().
 */
static void assign_symbols(struct entry_table *table, const struct function_symbol *found,
			   unsigned int nr)
{
	unsigned int i, next = 0;
	u32 symbol = 0;

	for (i = 0; i < table->sites.nr; i++) {
		unsigned long addr = patcher_compact_addr(&table->sites.compact[i]);

		for (; next < nr && found[next].addr <= addr; next++)
			if (!next || found[next - 1].addr != found[next].addr)
				symbol = found[next].index;
		table->symbols[i] = symbol;
	}
}

/**
 * entry_find_symbols() - find the function symbol of each site of a table
 * @table: the table, with sorted sites; the field symbols is set, to be freed by kvfree().  The
 *	module is in MODULE_STATE_COMING or LIVE, and must not be freed during the call
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int entry_find_symbols(struct entry_table *table)
{
	/* Skip the symbols of init text: the kernel may free them while this function runs. */
	const struct mod_kallsyms *symbols = &table->sites.module->core_kallsyms;
	unsigned int nr = collect_function_symbols(NULL, symbols);
	struct function_symbol *found = kvcalloc(nr ?: 1, sizeof(*found), GFP_KERNEL);

	table->symbols = kvcalloc(table->sites.nr, sizeof(*table->symbols), GFP_KERNEL);
	if (found && table->symbols) {
		collect_function_symbols(found, symbols);
		sort(found, nr, sizeof(*found), compare_function_symbols, NULL);
		assign_symbols(table, found, nr);
	}
	kvfree(found);
	return found && table->symbols ? 0 : -ENOMEM;
}

/*
 * Return the name of the last function that begins at or before site @i of a table, or "?" if there
 * is no such function.  Store in @offset the distance from the start of that function to the site,
 * in bytes.
 */
const char *entry_get_symbol(const struct entry_table *table, unsigned int i,
			     unsigned long *offset)
{
	const struct mod_kallsyms *symbols = &table->sites.module->core_kallsyms;
	const Elf_Sym *symbol = &symbols->symtab[table->symbols[i]];

	*offset = 0;
	if (!table->symbols[i])
		return "?";
	*offset = patcher_compact_addr(&table->sites.compact[i]) - symbol->st_value;
	return symbols->strtab + symbol->st_name;
}

/**
 * entry_strip_cold_suffix() - remove the suffix ".cold" from the name of a symbol
 * @function: buffer of ENTRY_MAX_FUNCTION bytes
 * @name: name of a symbol
 *
 * The compiler moves the rarely executed code of a function f to a separate part, whose symbol is
 * f.cold, or f.cold.1 with older compilers.
 *
 * Return: @name if @name has no such suffix; else @function, which then holds @name without the
 * suffix.
 */
const char *entry_strip_cold_suffix(char *function, const char *name)
{
	const char *dot = strchr(name, '.'), *cold = dot ? strstr(dot, ".cold") : NULL;
	size_t length;

	if (!cold)
		return name;
	length = min_t(size_t, cold - name, ENTRY_MAX_FUNCTION - 1);
	memcpy(function, name, length);
	function[length] = '\0';
	return function;
}
