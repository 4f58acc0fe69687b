/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_MUTEX_H
#define NATIVE_MUTEX_H
#include <pthread.h>

struct mutex {
	pthread_mutex_t lock;
};

/*
 * The gate prevents fork() while a thread holds a mutex.  A thread that holds a mutex is inside the
 * gate, must not wait for RCU readers, and cannot be cancelled.  Before fork(), the gate is closed
 * when no thread is inside, so no mutex is locked in the child.  The child initialises the gate
 * again, because no thread of the child waits for the gate.
 */
void native_gate_enter(void);
void native_gate_leave(void);
void native_gate_close(void);
void native_gate_open(void);
void native_gate_reset_after_fork(void);
extern __thread unsigned int native_mutexes_held;

#define __MUTEX_INITIALIZER(name)	{ .lock = PTHREAD_MUTEX_INITIALIZER }

static inline void mutex_lock(struct mutex *m)
{
	if (!native_mutexes_held++)
		native_gate_enter();
	pthread_mutex_lock(&m->lock);
}

static inline void mutex_unlock(struct mutex *m)
{
	pthread_mutex_unlock(&m->lock);
	if (!--native_mutexes_held)
		native_gate_leave();
}
#endif
