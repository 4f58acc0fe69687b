// SPDX-License-Identifier: GPL-2.0-only
/*
 * The patcher's lock.  It is held while text is changed and while tables of sites
 * are registered or forgotten.  It is also held while a kprobe is registered to ask
 * the kernel a question: a batch would be refused because of that kprobe, and two
 * such kprobes would see each other.
 */
#include <linux/lockdep.h>
#include <linux/mutex.h>

#include "lock.h"

static struct mutex text_changes = __MUTEX_INITIALIZER(text_changes);

void patcher_lock(void)
{
	mutex_lock(&text_changes);
}

void patcher_unlock(void)
{
	mutex_unlock(&text_changes);
}

void patcher_assert_locked(void)
{
	lockdep_assert_held(&text_changes);
}
