// SPDX-License-Identifier: GPL-2.0-only
/*
 * The patcher's mutex is held while text is changed, and while tables of sites are registered or
 * unregistered.  The mutex is also held while the patcher registers kprobes of its own, to resolve
 * a symbol or to check core text.  Otherwise another task that patches sites or checks core text
 * would mistake the patcher's kprobes for kprobes of other users, and fail with -EBUSY.
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
