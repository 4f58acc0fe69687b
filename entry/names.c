// SPDX-License-Identifier: GPL-2.0-only
/*
 * Look up the functions of a module by address.  For each lookup, the kernel searches all symbols
 * of the module; here the function symbols are sorted once and then looked up by binary search.
 */
#include <linux/elf.h>
#include <linux/errno.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>

#include <kmarkers/search.h>

#include "names.h"

/* Prefix of the symbols that the kernel's build adds for the padding before a function. */
#define PADDING	"__pfx_"

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
static int compare_function_names(const void *a, const void *b)
{
	const struct entry_name *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* Collect the function symbols; if @names->name is NULL, only count them. */
static void collect_function_names(struct entry_names *names, const struct mod_kallsyms *symbols)
{
	unsigned int i;

	names->nr = 0;
	for (i = 1; i < symbols->num_symtab; i++) {
		const Elf_Sym *symbol = &symbols->symtab[i];

		if (!is_named_function_symbol(symbols, symbol))
			continue;
		if (names->name)
			names->name[names->nr] = (struct entry_name) {
				symbol->st_value, symbols->strtab + symbol->st_name,
			};
		names->nr++;
	}
}

/* Keep one symbol for each address: the first in the order of compare_function_names(). */
static void drop_alias_names(struct entry_names *names)
{
	unsigned int i, kept = 0;

	for (i = 0; i < names->nr; i++)
		if (!kept || names->name[kept - 1].addr != names->name[i].addr)
			names->name[kept++] = names->name[i];
	names->nr = kept;
}

/**
 * entry_read_function_names() - read the names of a module's functions
 * @names: filled in; to be freed by entry_free_function_names()
 * @module: a module in MODULE_STATE_COMING or LIVE, which the caller keeps from being freed
 *
 * Return: 0 or -ENOMEM.
 */
int entry_read_function_names(struct entry_names *names, const struct module *module)
{
	/* Leave out symbols of init text, which the kernel may free while this function runs. */
	const struct mod_kallsyms *symbols = &module->core_kallsyms;

	names->name = NULL;
	collect_function_names(names, symbols);
	names->name = kvcalloc(names->nr ?: 1, sizeof(*names->name), GFP_KERNEL);
	if (!names->name)
		return -ENOMEM;
	collect_function_names(names, symbols);
	sort(names->name, names->nr, sizeof(*names->name), compare_function_names, NULL);
	drop_alias_names(names);
	return 0;
}

void entry_free_function_names(struct entry_names *names)
{
	kvfree(names->name);
	names->name = NULL;
}

static __always_inline unsigned long function_addr_at(const void *names, unsigned int i)
{
	return ((const struct entry_name *)names)[i].addr;
}

/*
 * Return the name of the last function that begins at or before an address, or "?" if none does.
 * Store in @offset the distance from the start of that function to the address, in bytes.
 */
const char *entry_find_function_name(const struct entry_names *names, unsigned long addr,
				     unsigned long *offset)
{
	unsigned int i = kmarkers_lower_bound(names->name, names->nr, addr + 1, function_addr_at);

	*offset = i ? addr - names->name[i - 1].addr : 0;
	return i ? names->name[i - 1].name : "?";
}

/**
 * entry_strip_cold_suffix() - copy the name of a symbol without the suffix ".cold"
 * @function: buffer of ENTRY_MAX_FUNCTION bytes for the name of the function
 * @name: name of a symbol
 *
 * The compiler moves the rarely executed code of a function f to a separate part, whose symbol is
 * f.cold, or f.cold.1 with older compilers.
 */
void entry_strip_cold_suffix(char *function, const char *name)
{
	const char *cold = strstr(name, ".cold");
	size_t length = cold ? cold - name : strlen(name);

	length = min_t(size_t, length, ENTRY_MAX_FUNCTION - 1);
	memcpy(function, name, length);
	function[length] = '\0';
}
