// SPDX-License-Identifier: GPL-2.0-only
/*
 * fork() and batches.  The text is a shared mapping: a child that kept it would
 * meet its parent's changes, and write them.  No batch runs while the program
 * forks, and the child gets a copy of the text before fork() returns.
 */
#include <pthread.h>

#include <linux/mutex.h>
#include <linux/rcupdate.h>

#include "failure.h"
#include "fork.h"
#include "text.h"

static void before_fork(void)
{
	native_gate_close();
	native_text_before_fork();
	urcu_bp_before_fork();
}

static void after_fork_parent(void)
{
	urcu_bp_after_fork_parent();
	native_text_after_fork_parent();
	native_gate_open();
}

/* liburcu unblocks signals, whose handlers may have sites: the text comes first. */
static void after_fork_child(void)
{
	native_text_after_fork_child();
	native_gate_renew();
	urcu_bp_after_fork_child();
}

static int watch_error;

/*
 * Before the program registers handlers of its own.  Those run after ours in the
 * child, which has its own text then and no signal blocked, and before ours in
 * front of the fork, where they may still change things.
 */
static __attribute__((constructor(101))) void watch(void)
{
	watch_error = pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

int native_fork_start(void)
{
	return watch_error ? native_failed("cannot watch for fork()", -watch_error) : 0;
}
