/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the kernel's symbols are. */
#ifndef BASE_SYMBOLS_H
#define BASE_SYMBOLS_H

#include <linux/kallsyms.h>

/*
 * Address of a symbol of the kernel or of a module, or 0; on IBT builds 4 past the
 * start of a function.  patcher_lock() is held.
 */
unsigned long kmarkers_resolve(const char *symbol);

/**
 * struct kmarkers_extent - where a symbol's bytes are
 * @start: its first byte
 * @size: its bytes
 * @name: one of its names
 */
struct kmarkers_extent {
	unsigned long start;
	unsigned long size;
	char name[KSYM_NAME_LEN];
};

/* What kallsyms says of an address; 0 or -ENOENT. */
int kmarkers_find_extent(unsigned long addr, struct kmarkers_extent *extent);

#endif /* BASE_SYMBOLS_H */
