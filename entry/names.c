// SPDX-License-Identifier: GPL-2.0-only
/*
 * The names of functions of a module.  The kernel finds the name of one address by a
 * search through all symbols of its module; here they are sorted once for many addresses.
 */
#include <linux/elf.h>
#include <linux/errno.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>

#include <kmarkers/search.h>

#include "names.h"

/* Prefix of the kernel's symbols for the padding before a function. */
#define PADDING	"__pfx_"

static bool is_function(const struct mod_kallsyms *symbols, const Elf_Sym *symbol)
{
	const char *name = symbols->strtab + symbol->st_name;

	return ELF_ST_TYPE(symbol->st_info) == STT_FUNC && *name &&
	       strncmp(name, PADDING, sizeof(PADDING) - 1);
}

/* Of several symbols at one address, keep the first in the symbol table: a local one. */
static int compare_names(const void *a, const void *b)
{
	const struct entry_name *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* Fill in the names; if @names->name is NULL, only count them. */
static void collect_names(struct entry_names *names, const struct mod_kallsyms *symbols)
{
	unsigned int i;

	names->nr = 0;
	for (i = 1; i < symbols->num_symtab; i++) {
		const Elf_Sym *symbol = &symbols->symtab[i];

		if (!is_function(symbols, symbol))
			continue;
		if (names->name)
			names->name[names->nr] = (struct entry_name) {
				symbol->st_value, symbols->strtab + symbol->st_name,
			};
		names->nr++;
	}
}

static void drop_aliases(struct entry_names *names)
{
	unsigned int i, kept = 0;

	for (i = 0; i < names->nr; i++)
		if (!kept || names->name[kept - 1].addr != names->name[i].addr)
			names->name[kept++] = names->name[i];
	names->nr = kept;
}

/**
 * entry_names_read() - read the names of a module's functions
 * @names: filled in; to be freed by entry_names_free()
 * @module: a module that is coming or live, and stays meanwhile
 *
 * Return: 0 or -ENOMEM.
 */
int entry_names_read(struct entry_names *names, const struct module *module)
{
	/* Without the symbols of init text: those are freed while others may read them. */
	const struct mod_kallsyms *symbols = &module->core_kallsyms;

	names->name = NULL;
	collect_names(names, symbols);
	names->name = kvcalloc(names->nr ?: 1, sizeof(*names->name), GFP_KERNEL);
	if (!names->name)
		return -ENOMEM;
	collect_names(names, symbols);
	sort(names->name, names->nr, sizeof(*names->name), compare_names, NULL);
	drop_aliases(names);
	return 0;
}

void entry_names_free(struct entry_names *names)
{
	kvfree(names->name);
	names->name = NULL;
}

static __always_inline unsigned long addr_of_name(const void *names, unsigned int i)
{
	return ((const struct entry_name *)names)[i].addr;
}

/* The function that an address is in, and the offset of the address in it; "?" for none. */
const char *entry_name_of(const struct entry_names *names, unsigned long addr,
			  unsigned long *offset)
{
	unsigned int i = kmarkers_lower_bound(names->name, names->nr, addr + 1, addr_of_name);

	*offset = i ? addr - names->name[i - 1].addr : 0;
	return i ? names->name[i - 1].name : "?";
}

/**
 * entry_function_of() - the function that a part of it belongs to
 * @function: filled in: ENTRY_MAX_FUNCTION bytes
 * @name: a name of the table of symbols
 *
 * The compiler moves what is seldom executed to a part that is named f.cold or, by older
 * ones, f.cold.1.
 */
void entry_function_of(char *function, const char *name)
{
	const char *cold = strstr(name, ".cold");
	size_t length = cold ? cold - name : strlen(name);

	length = min_t(size_t, length, ENTRY_MAX_FUNCTION - 1);
	memcpy(function, name, length);
	function[length] = '\0';
}
