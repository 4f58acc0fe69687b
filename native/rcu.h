/* SPDX-License-Identifier: GPL-2.0-only */
/* RCU of the program's threads, besides what <linux/rcupdate.h> declares. */
#ifndef NATIVE_RCU_H
#define NATIVE_RCU_H

/* Prepare for threads that end.  Return 0, or an error number of pthread_key_create(). */
int native_rcu_start(void);

/* Forget, in the child of fork(), the readers that exist in its parent alone. */
void native_rcu_after_fork_child(void);

#endif /* NATIVE_RCU_H */
