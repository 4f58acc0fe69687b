/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lookup of the function that contains an address: sdt/symbol.c in the kernel, native/symbol.c in
 * user space.
 */
#ifndef SDT_SYMBOL_H
#define SDT_SYMBOL_H

#include <linux/types.h>

/*
 * Store the name of the function that contains @addr in @name, and return the offset of @addr in
 * that function. If the function is unknown, the name is "?" and the offset is @addr.
 */
unsigned long sdt_find_function_name(unsigned long addr, char *name, size_t size);

/* Return 0 if functions can be looked up; otherwise log the reason and return -EOPNOTSUPP. */
int sdt_require_symbols(void);

#endif /* SDT_SYMBOL_H */
