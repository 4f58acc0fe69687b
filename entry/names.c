// SPDX-License-Identifier: GPL-2.0-only
/*
 * When the sites of a module are registered, find the function symbol of each site, and sort the
 * sites by function name.
 *
 * For each lookup by address, the kernel would search all symbols of the module.  Here the function
 * symbols are sorted by address, and then walked in parallel with the sites.  Because the
 * sites are sorted by name, a pattern is compared only with names that begin with the pattern's
 * literal prefix.
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

/**
 * struct named_site - a site with the name of its function
 * @name: the name, as entry_get_symbol() returns it
 * @site: index of the site
 */
struct named_site {
	const char *name;
	u32 site;
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

/* Store the function symbols in @found, unless @found is NULL.  Return the number of symbols. */
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
static void assign_symbols_to_sites(struct entry_table *table, const struct function_symbol *found,
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

/* Compare two sites by function name, then by index. */
static int compare_named_sites(const void *a, const void *b)
{
	const struct named_site *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	if (order)
		return order;
	return x->site < y->site ? -1 : x->site > y->site;
}

/* Store the indices of all sites, sorted by function name. */
static int sort_sites_by_name(struct entry_table *table)
{
	unsigned int i, nr = table->sites.nr;
	struct named_site *named = kvcalloc(nr, sizeof(*named), GFP_KERNEL);
	unsigned long offset;

	table->by_name = kvcalloc(nr, sizeof(*table->by_name), GFP_KERNEL);
	if (named && table->by_name) {
		for (i = 0; i < nr; i++)
			named[i] = (struct named_site){ entry_get_symbol(table, i, &offset), i };
		sort(named, nr, sizeof(*named), compare_named_sites, NULL);
		for (i = 0; i < nr; i++)
			table->by_name[i] = named[i].site;
	}
	kvfree(named);
	return named && table->by_name ? 0 : -ENOMEM;
}

/**
 * entry_find_symbols() - find the function symbol of each site, and order the sites by name
 * @table: the table, with sorted sites, of a module in MODULE_STATE_COMING or LIVE; the caller
 *	keeps the module from being freed
 *
 * Set @table->symbols and @table->by_name, which the caller frees by kvfree(), also after an error.
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
		assign_symbols_to_sites(table, found, nr);
	}
	kvfree(found);
	return found && table->symbols ? sort_sites_by_name(table) : -ENOMEM;
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
 * entry_find_name_index() - find a name among the sorted names of a table's functions
 * @table: the table
 * @text: the text to find
 * @length: number of characters of @text to compare
 * @after: false to find the first name that is equal to or greater than @text; true to find the
 *	first name that is greater than @text
 *
 * Return: the index of the name in @table->by_name; the number of sites if there is no such name.
 */
unsigned int entry_find_name_index(const struct entry_table *table, const char *text, size_t length,
				   bool after)
{
	unsigned int low = 0, high = table->sites.nr;
	unsigned long offset;

	while (low < high) {
		unsigned int middle = low + (high - low) / 2;
		const char *name = entry_get_symbol(table, table->by_name[middle], &offset);

		if (strncmp(name, text, length) < (after ? 1 : 0))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
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
