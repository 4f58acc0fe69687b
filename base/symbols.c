// SPDX-License-Identifier: GPL-2.0-only
/*
 * Look up addresses of the kernel's symbols, exported or not, by registering kprobes:
 * register_kprobe() stores the address of the probed symbol in the kprobe, even if it refuses to
 * probe that address.
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/kallsyms.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/string.h>

#include "lock.h"
#include "symbols.h"

/*
 * Resolve a symbol by registering a kprobe.  The caller must hold patcher_lock(): otherwise
 * patching by another task could fail with -EBUSY because of this kprobe.
 */
unsigned long kmarkers_resolve_symbol(const char *symbol)
{
	struct kprobe probe = { .symbol_name = symbol, .flags = KPROBE_FLAG_DISABLED };
	unsigned long addr;

	patcher_assert_locked();
	if (!register_kprobe(&probe)) {
		addr = (unsigned long)probe.addr;
		unregister_kprobe(&probe);
		return addr;
	}
	return (unsigned long)probe.addr;
}

/**
 * kmarkers_find_symbol_extent() - find the symbol that contains an address
 * @addr: the address
 * @extent: filled in
 *
 * Context: any in which sprint_symbol() may be called.
 * Return: 0, or -ENOENT if no symbol contains @addr.
 */
int kmarkers_find_symbol_extent(unsigned long addr, struct kmarkers_extent *extent)
{
	char text[KSYM_SYMBOL_LEN], *plus;
	unsigned long offset;

	/* sprint_symbol() prints name+offset/size. */
	sprint_symbol(text, addr);
	plus = strrchr(text, '+');
	if (!plus || sscanf(plus, "+0x%lx/0x%lx", &offset, &extent->size) != 2)
		return -ENOENT;
	extent->start = addr - offset;
	*plus = '\0';
	strscpy(extent->name, text, sizeof(extent->name));
	return 0;
}
EXPORT_SYMBOL_GPL(kmarkers_find_symbol_extent);
