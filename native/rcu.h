/* SPDX-License-Identifier: GPL-2.0-only */
/* RCU of the program's threads, besides what <linux/rcupdate.h> declares. */
#ifndef NATIVE_RCU_H
#define NATIVE_RCU_H

/* Make ending threads release their readers.  Return 0, or an error of pthread_key_create(). */
int native_rcu_start(void);

/* Drop, in the child of fork(), the readers of threads that exist only in the parent. */
void native_rcu_after_fork_child(void);

#endif /* NATIVE_RCU_H */
