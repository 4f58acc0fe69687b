// SPDX-License-Identifier: GPL-2.0-only
/* The observer thread as a kernel thread. */
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/smp.h>

#include "observer.h"
#include "observer_thread.h"

static struct task_struct *thread;	/* NULL while the thread is not running */
static bool has_moved;			/* result of bench_observer_has_moved() after the end */

static int read_clock_repeatedly(void *unused)
{
	struct bench_watch watch;

	bench_watch_init(&watch, compat_count_timer_irqs());
	while (!kthread_should_stop()) {
		bench_watch_read_clock(&watch);
		bench_watch_record_gap(&watch, compat_count_timer_irqs());
		/* cond_resched() also lets stop_machine() take the CPU. */
		cond_resched();
	}
	return 0;
}

bool bench_observer_has_moved(void)
{
	/* The scheduler lets a bound thread run on all CPUs when its CPU goes offline. */
	bool moved = has_moved || (thread && thread->nr_cpus_allowed != 1);

	has_moved = false;
	return moved;
}

int bench_observer_start(bool realtime)
{
	unsigned int cpu = cpumask_any_but(cpu_online_mask, raw_smp_processor_id());
	struct task_struct *created;

	if (cpu >= nr_cpu_ids)
		return -ENODEV;
	created = kthread_create(read_clock_repeatedly, NULL, "kmarkers_watch");
	if (IS_ERR(created))
		return PTR_ERR(created);
	thread = created;
	kthread_bind(thread, cpu);
	/*
	 * With PREEMPT_RT, set no real-time priority: a real-time thread would also preempt the
	 * threads that run timers and RCU.
	 */
	if (realtime && !IS_ENABLED(CONFIG_PREEMPT_RT))
		sched_set_fifo(thread);
	wake_up_process(thread);
	return 0;
}

void bench_observer_stop(void)
{
	has_moved = bench_observer_has_moved();
	kthread_stop(thread);
	thread = NULL;
}
