// SPDX-License-Identifier: GPL-2.0-only
/*
 * Serialise fork() and batches.  The text is a shared mapping: a child that kept it would execute
 * its parent's changes, and its own changes would change the parent.  No batch runs while the
 * program forks, and the child gets a copy of the text before fork() returns.
 */
#include <pthread.h>
#include <signal.h>

#include <linux/mutex.h>
#include <linux/rcupdate.h>

#include "failure.h"
#include "fork.h"
#include "rcu.h"
#include "text.h"

/* Signal mask of the forking thread; only one thread forks at a time. */
static sigset_t mask;

/* Allocate this thread's reader now: the child drops all others. */
static void before_fork(void)
{
	sigset_t all;

	native_gate_close();
	rcu_read_lock();
	rcu_read_unlock();
	native_text_before_fork();
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &mask);
}

static void after_fork_parent(void)
{
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	native_text_after_fork_parent();
	native_gate_open();
}

/* Unblock signals last: their handlers may contain sites. */
static void after_fork_child(void)
{
	native_text_after_fork_child();
	native_rcu_after_fork_child();
	native_gate_renew();
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

static int watch_error;

/*
 * Register our handlers before the program registers its own.  Then in the child the
 * program's handlers run after ours, when the child has its own text and no signal
 * blocked; before the fork they run before ours, and may still set values and probes.
 */
static __attribute__((constructor(101))) void watch(void)
{
	watch_error = native_rcu_start() ?:
		      pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

int native_fork_start(void)
{
	return watch_error ? native_failed("cannot watch for fork() and for the ends of threads",
					   -watch_error) : 0;
}
