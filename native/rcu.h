/* SPDX-License-Identifier: GPL-2.0-only */
/* Initialisation and fork handler of the RCU implementation in native/rcu.c. */
#ifndef NATIVE_RCU_H
#define NATIVE_RCU_H

/*
 * Make threads release their readers when they end.  Return 0 or an error of pthread_key_create().
 */
int native_rcu_register_thread_exit(void);

/* In the child of fork(), release the readers of threads that exist only in the parent. */
void native_rcu_drop_parent_readers(void);

#endif /* NATIVE_RCU_H */
