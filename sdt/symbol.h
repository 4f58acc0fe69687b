/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lookup of the function of an address: sdt/symbol.c in the kernel, native/symbol.c in a program.
 */
#ifndef SDT_SYMBOL_H
#define SDT_SYMBOL_H

#include <linux/types.h>

/*
 * Put the name of the function into @name, and return the offset of @addr in it.
 * Where that is not known the name is "?" and the offset is the address.
 */
unsigned long sdt_find_function(unsigned long addr, char *name, size_t size);

/* 0, or -EOPNOTSUPP with a message that says why functions are not known. */
int sdt_require_functions(void);

#endif /* SDT_SYMBOL_H */
