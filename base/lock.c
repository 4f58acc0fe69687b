// SPDX-License-Identifier: GPL-2.0-only
/*
 * The lock under which text is changed and sites come and go.  Whoever asks the
 * kernel with a kprobe takes it, too: no batch may meet that one, and no two of
 * them each other.
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
