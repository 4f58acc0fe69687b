/* SPDX-License-Identifier: GPL-2.0-only */
/* Addresses of the kernel's symbols. */
#ifndef BASE_SYMBOLS_H
#define BASE_SYMBOLS_H

#include <linux/kallsyms.h>

/*
 * Address of a symbol of the kernel or of a module, or 0; for a function on IBT builds
 * 4 bytes past its start.  patcher_lock() is held.
 */
unsigned long kmarkers_resolve(const char *symbol);

/**
 * struct kmarkers_extent - address and size of a symbol
 * @start: address of its first byte
 * @size: its size in bytes
 * @name: one of its names
 */
struct kmarkers_extent {
	unsigned long start;
	unsigned long size;
	char name[KSYM_NAME_LEN];
};

/* Ask kallsyms which symbol an address belongs to.  Return 0 or -ENOENT. */
int kmarkers_find_extent(unsigned long addr, struct kmarkers_extent *extent);

#endif /* BASE_SYMBOLS_H */
