/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_LOCKDEP_H
#define NATIVE_LOCKDEP_H
#include <stdlib.h>
#include <linux/mutex.h>

/* Abort if no thread holds the mutex.  Only builds with a sanitizer check this. */
static inline void lockdep_assert_held(struct mutex *m)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	if (!pthread_mutex_trylock(&m->lock))
		abort();
#endif
}
#endif
