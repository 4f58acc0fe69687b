/* SPDX-License-Identifier: GPL-2.0-only */
/* Locks of the lock-pair benchmarks: kernel locks in a module, pthread locks in user space. */
#ifndef BENCH_MODULES_LOCKS_H
#define BENCH_MODULES_LOCKS_H

#ifdef __KERNEL__
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>

static DEFINE_SPINLOCK(the_spinlock);
static DEFINE_MUTEX(the_mutex);
static DEFINE_RWLOCK(the_rwlock);
static DECLARE_RWSEM(the_rwsem);

#define SPINLOCK_LOCK()		spin_lock(&the_spinlock)
#define SPINLOCK_UNLOCK()	spin_unlock(&the_spinlock)
#define MUTEX_LOCK()		mutex_lock(&the_mutex)
#define MUTEX_UNLOCK()		mutex_unlock(&the_mutex)
#define RWLOCK_READ_LOCK()	read_lock(&the_rwlock)
#define RWLOCK_READ_UNLOCK()	read_unlock(&the_rwlock)
#define RWLOCK_WRITE_LOCK()	write_lock(&the_rwlock)
#define RWLOCK_WRITE_UNLOCK()	write_unlock(&the_rwlock)
#define RWSEM_READ_LOCK()	down_read(&the_rwsem)
#define RWSEM_READ_UNLOCK()	up_read(&the_rwsem)
#define RWSEM_WRITE_LOCK()	down_write(&the_rwsem)
#define RWSEM_WRITE_UNLOCK()	up_write(&the_rwsem)

#define LOCKS_SETUP()		((void)0)
#else
#include <pthread.h>

static pthread_spinlock_t the_spinlock;
static pthread_mutex_t the_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t the_rwlock = PTHREAD_RWLOCK_INITIALIZER;

#define SPINLOCK_LOCK()		pthread_spin_lock(&the_spinlock)
#define SPINLOCK_UNLOCK()	pthread_spin_unlock(&the_spinlock)
#define MUTEX_LOCK()		pthread_mutex_lock(&the_mutex)
#define MUTEX_UNLOCK()		pthread_mutex_unlock(&the_mutex)
#define RWLOCK_READ_LOCK()	pthread_rwlock_rdlock(&the_rwlock)
#define RWLOCK_READ_UNLOCK()	pthread_rwlock_unlock(&the_rwlock)
#define RWLOCK_WRITE_LOCK()	pthread_rwlock_wrlock(&the_rwlock)
#define RWLOCK_WRITE_UNLOCK()	pthread_rwlock_unlock(&the_rwlock)

#define LOCKS_SETUP()		pthread_spin_init(&the_spinlock, PTHREAD_PROCESS_PRIVATE)
#endif

#endif /* BENCH_MODULES_LOCKS_H */
