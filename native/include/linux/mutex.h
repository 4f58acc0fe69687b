/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_MUTEX_H
#define NATIVE_MUTEX_H
#include <pthread.h>

struct mutex {
	pthread_mutex_t lock;
};

/*
 * Held for reading by whoever holds any mutex, for writing by fork(): the child
 * finds none of them locked.
 */
extern pthread_rwlock_t native_fork_gate;
extern __thread unsigned int native_mutexes_held;

#define __MUTEX_INITIALIZER(name)	{ .lock = PTHREAD_MUTEX_INITIALIZER }

static inline void mutex_lock(struct mutex *m)
{
	if (!native_mutexes_held++)
		pthread_rwlock_rdlock(&native_fork_gate);
	pthread_mutex_lock(&m->lock);
}

static inline void mutex_unlock(struct mutex *m)
{
	pthread_mutex_unlock(&m->lock);
	if (!--native_mutexes_held)
		pthread_rwlock_unlock(&native_fork_gate);
}
#endif
