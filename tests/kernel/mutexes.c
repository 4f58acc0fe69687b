// SPDX-License-Identifier: GPL-2.0-only
/*
 * A kprobe on mutex_unlock() that checks each call: the current task must hold the mutex.  A kernel
 * without lock debugging accepts any call, and then lets two tasks into the critical section.  The
 * log line of a wrong call begins with "BUG: ", so the test during which the line appears fails.
 */
#include <linux/atomic.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/sched.h>

/* The bits of a mutex's owner that are flags: MUTEX_FLAGS in kernel/locking/mutex.c. */
#define FLAGS	0x7UL

static int log_unlock_by_other_task(struct kprobe *probe, struct pt_regs *regs)
{
	const struct mutex *mutex = (const struct mutex *)regs->di;
	unsigned long owner = atomic_long_read(&mutex->owner) & ~FLAGS;

	if (owner != (unsigned long)current)
		pr_err("BUG: mutex %pS is unlocked at %pS by a task that does not hold it\n", mutex,
		       *(void **)regs->sp);
	return 0;
}
NOKPROBE_SYMBOL(log_unlock_by_other_task);

static struct kprobe probe = {
	.symbol_name = "mutex_unlock",
	.pre_handler = log_unlock_by_other_task,
};

static int __init mutexes_init(void)
{
	return register_kprobe(&probe);
}

static void __exit mutexes_exit(void)
{
	unregister_kprobe(&probe);
}

module_init(mutexes_init);
module_exit(mutexes_exit);

MODULE_DESCRIPTION("Checks that each mutex is unlocked by the task that holds it");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
