/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_MUTEX_H
#define NATIVE_MUTEX_H
#include <pthread.h>

struct mutex {
	pthread_mutex_t lock;
};

/*
 * Held for reading with any mutex, for writing by fork(): the child finds none
 * of them locked.  glibc's lets readers nest while a writer waits.
 */
extern pthread_rwlock_t native_fork_gate;

#define __MUTEX_INITIALIZER(name)	{ .lock = PTHREAD_MUTEX_INITIALIZER }

static inline void mutex_lock(struct mutex *m)
{
	pthread_rwlock_rdlock(&native_fork_gate);
	pthread_mutex_lock(&m->lock);
}

static inline void mutex_unlock(struct mutex *m)
{
	pthread_mutex_unlock(&m->lock);
	pthread_rwlock_unlock(&native_fork_gate);
}
#endif
