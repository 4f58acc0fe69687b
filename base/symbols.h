/* SPDX-License-Identifier: GPL-2.0-only */
/* Look up symbols of the kernel by name and by address. */
#ifndef BASE_SYMBOLS_H
#define BASE_SYMBOLS_H

#include <linux/kallsyms.h>

/*
 * Return the address of a symbol in the kernel or in a module, or 0.  On kernels built with IBT,
 * the address returned for a function is 4 bytes past its start.  The caller must hold
 * patcher_lock().
 */
unsigned long kmarkers_resolve_symbol(const char *symbol);

/**
 * struct kmarkers_extent - address and size of a symbol
 * @start: address of the symbol's first byte
 * @size: size of the symbol in bytes
 * @name: name of the symbol; if several symbols begin at @start, the name of one of them
 */
struct kmarkers_extent {
	unsigned long start;
	unsigned long size;
	char name[KSYM_NAME_LEN];
};

/* Find the symbol in kallsyms that contains an address.  Return 0 or -ENOENT. */
int kmarkers_find_symbol_extent(unsigned long addr, struct kmarkers_extent *extent);

#endif /* BASE_SYMBOLS_H */
