/* SPDX-License-Identifier: GPL-2.0-only */
/* The function symbols of a module's sites. */
#ifndef ENTRY_NAMES_H
#define ENTRY_NAMES_H

#include "registry.h"

/* Buffer size in bytes of a function's name, including the NUL. */
#define ENTRY_MAX_FUNCTION	128

int entry_find_symbols(struct entry_table *table);
const char *entry_get_symbol(const struct entry_table *table, unsigned int i,
			     unsigned long *offset);
unsigned int entry_find_name_index(const struct entry_table *table, const char *text, size_t length,
				   bool after);
const char *entry_strip_cold_suffix(char *function, const char *name);

#endif /* ENTRY_NAMES_H */
