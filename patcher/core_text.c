// SPDX-License-Identifier: GPL-2.0-only
/*
 * The bounds of core text (the kernel's own text), and text_mutex, which each writer of core text
 * takes.
 */
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/mutex.h>
#include <linux/printk.h>

#include "../base/symbols.h"
#include "core_text.h"

static struct {
	struct mutex *mutex;		/* the kernel's text_mutex */
	unsigned long start, end;	/* the kernel's text, without the part freed after init */
} text;

bool patcher_is_core_text(unsigned long addr)
{
	return addr >= text.start && addr < text.end;
}

void patcher_core_text_lock(void)
{
	mutex_lock(text.mutex);
}

void patcher_core_text_unlock(void)
{
	mutex_unlock(text.mutex);
}

/* Find text_mutex and the bounds of core text.  patcher_lock() is held.  Return 0 or -ENOENT. */
int __init patcher_core_text_init(void)
{
	text.mutex = (struct mutex *)kmarkers_resolve_symbol("text_mutex");
	text.start = kmarkers_resolve_symbol("_stext");
	text.end = kmarkers_resolve_symbol("_etext");
	if (text.mutex && text.start && text.end)
		return 0;
	pr_err("kernel not supported: text_mutex, _stext or _etext not found: build the kernel with CONFIG_KALLSYMS_ALL\n");
	return -ENOENT;
}
