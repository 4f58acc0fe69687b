/* SPDX-License-Identifier: GPL-2.0-only */
/* The patcher's mutex.  Lock order: taken before kprobe_mutex and the locks of ftrace. */
#ifndef BASE_LOCK_H
#define BASE_LOCK_H

void patcher_lock(void);
void patcher_unlock(void);
void patcher_assert_locked(void);

#endif /* BASE_LOCK_H */
