// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prevent fork() during a batch, and give a child its own text.  The text is a shared mapping: a
 * child that kept it would execute the code that its parent patches, and would patch the code of
 * its parent.  So no batch runs while the program forks, and the child gets a copy of the text
 * before fork() returns.
 */
#include <pthread.h>
#include <signal.h>

#include <linux/mutex.h>
#include <linux/rcupdate.h>

#include "failure.h"
#include "fork.h"
#include "rcu.h"
#include "text.h"

/*
 * Signal mask of the thread that forks, saved until the end of fork().  Only one thread forks at a
 * time.
 */
static sigset_t mask;

/*
 * Prepare for fork().  native_gate_close() waits until no thread holds a mutex, so no batch runs
 * during fork().  rcu_read_lock() allocates the RCU reader of this thread, unless it has one.
 * The child keeps this reader and drops the readers of all other threads.
 */
static void prepare_for_fork(void)
{
	sigset_t all;

	native_gate_close();
	rcu_read_lock();
	rcu_read_unlock();
	native_text_copy_for_fork();
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &mask);
}

static void finish_fork_in_parent(void)
{
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	native_text_drop_fork_copy();
	native_gate_open();
}

/*
 * Unblock signals last: a signal handler may execute patch sites, which is safe only after the
 * child has its own text.
 */
static void finish_fork_in_child(void)
{
	native_text_map_fork_copy();
	native_rcu_drop_parent_readers();
	native_gate_reset_after_fork();
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

/* Error of register_fork_handlers(), for native_check_fork_handlers(). */
static int setup_error;

/*
 * Register the fork handlers of kmarkers before the program registers its own.  In the child, the
 * program's handlers then run last, when the child has its own text and signals are no longer
 * blocked.  Before the fork, the program's handlers run first, so that they can still set immediate
 * values and connect probes.
 */
static __attribute__((constructor(101))) void register_fork_handlers(void)
{
	setup_error = native_rcu_register_thread_exit() ?:
		      pthread_atfork(prepare_for_fork, finish_fork_in_parent, finish_fork_in_child);
}

int native_check_fork_handlers(void)
{
	if (!setup_error)
		return 0;
	return native_report_failure("cannot register handlers of fork() and thread exit",
				     -setup_error);
}
