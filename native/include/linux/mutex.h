/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_MUTEX_H
#define NATIVE_MUTEX_H
#include <pthread.h>

struct mutex {
	pthread_mutex_t lock;
};

#define __MUTEX_INITIALIZER(name)	{ .lock = PTHREAD_MUTEX_INITIALIZER }
#define mutex_lock(m)			pthread_mutex_lock(&(m)->lock)
#define mutex_unlock(m)			pthread_mutex_unlock(&(m)->lock)
#endif
