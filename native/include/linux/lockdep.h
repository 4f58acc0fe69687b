/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_LOCKDEP_H
#define NATIVE_LOCKDEP_H
#include <stdlib.h>
#include <linux/mutex.h>

/* Checks that the mutex is held, by any thread; only in programs built to look for faults. */
static inline void lockdep_assert_held(struct mutex *m)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	if (!pthread_mutex_trylock(&m->lock))
		abort();
#endif
}
#endif
