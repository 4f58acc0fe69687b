// SPDX-License-Identifier: GPL-2.0-only
/* Look up the function that contains an address, in the kernel. */
#include <linux/string.h>

#include "../base/symbols.h"
#include "symbol.h"

/*
 * Find the function that contains @addr: see symbol.h.  The function's name is stored without a
 * suffix such as .cold, which the compiler adds to the names of split-off parts of a function.
 */
unsigned long sdt_find_function_name(unsigned long addr, char *name, size_t size)
{
	struct kmarkers_extent extent;

	if (kmarkers_find_symbol_extent(addr, &extent)) {
		strscpy(name, "?", size);
		return addr;
	}
	strscpy(name, extent.name, size);
	name[strcspn(name, ".")] = '\0';
	return addr - extent.start;
}

int sdt_require_symbols(void)
{
	return 0;
}
