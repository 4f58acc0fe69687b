// SPDX-License-Identifier: GPL-2.0-only
/* What include/linux/mutex.h and include/linux/rcupdate.h declare. */
#include <linux/mutex.h>
#include <linux/rcupdate.h>

pthread_rwlock_t native_fork_gate = PTHREAD_RWLOCK_INITIALIZER;
__thread unsigned int native_mutexes_held;

#ifdef __SANITIZE_THREAD__
unsigned long native_rcu_order;
#endif
