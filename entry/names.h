/* SPDX-License-Identifier: GPL-2.0-only */
/* A module's function symbols, sorted by address for lookup. */
#ifndef ENTRY_NAMES_H
#define ENTRY_NAMES_H

#include <linux/types.h>

struct module;

/* Buffer size in bytes of a function's name, including the NUL. */
#define ENTRY_MAX_FUNCTION	128

/**
 * struct entry_name - a function symbol
 * @addr: address of the first byte of the function
 * @name: name of the function, in the module's string table
 */
struct entry_name {
	unsigned long addr;
	const char *name;
};

/**
 * struct entry_names - the function symbols of a module
 * @name: array of the symbols, sorted by address
 * @nr: number of symbols
 */
struct entry_names {
	struct entry_name *name;
	unsigned int nr;
};

int entry_read_function_names(struct entry_names *names, const struct module *module);
void entry_free_function_names(struct entry_names *names);
const char *entry_find_function_name(const struct entry_names *names, unsigned long addr,
				     unsigned long *offset);
void entry_strip_cold_suffix(char *function, const char *name);

#endif /* ENTRY_NAMES_H */
