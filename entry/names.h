/* SPDX-License-Identifier: GPL-2.0-only */
/* The names of functions of a module. */
#ifndef ENTRY_NAMES_H
#define ENTRY_NAMES_H

#include <linux/types.h>

struct module;

/* Size of a function's name, including the NUL. */
#define ENTRY_MAX_FUNCTION	128

/**
 * struct entry_name - a function
 * @addr: its first byte
 * @name: its name, which is the module's
 */
struct entry_name {
	unsigned long addr;
	const char *name;
};

/**
 * struct entry_names - the functions of a module
 * @name: sorted by address
 * @nr: how many
 */
struct entry_names {
	struct entry_name *name;
	unsigned int nr;
};

int entry_names_read(struct entry_names *names, const struct module *module);
void entry_names_free(struct entry_names *names);
const char *entry_name_of(const struct entry_names *names, unsigned long addr,
			  unsigned long *offset);
void entry_function_of(char *function, const char *name);

#endif /* ENTRY_NAMES_H */
