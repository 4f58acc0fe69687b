// SPDX-License-Identifier: GPL-2.0-only
/* Core text: its bounds, and text_mutex, which every writer of core text takes. */
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

/* Find core text and text_mutex.  patcher_lock() is held.  Return 0 or -ENOENT. */
int __init patcher_core_text_init(void)
{
	text.mutex = (struct mutex *)kmarkers_resolve("text_mutex");
	text.start = kmarkers_resolve("_stext");
	text.end = kmarkers_resolve("_etext");
	if (text.mutex && text.start && text.end)
		return 0;
	pr_err("the kernel's text or its text_mutex cannot be found: is it built without KALLSYMS_ALL?\n");
	return -ENOENT;
}
