// SPDX-License-Identifier: GPL-2.0-only
/* Threads of the stress tests, one on each online CPU, and a function that reads a shared value. */
#include <linux/cpu.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/kthread.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "../common/test.h"
#include "shared.h"

static struct task_struct **threads;
static unsigned long *passes;
static void (*pass_function)(void);

u64 test_read_shared(void)
{
	return imv_read(test_shared);
}
EXPORT_SYMBOL_GPL(test_read_shared);

static int call_pass_repeatedly(void *data)
{
	unsigned long *count = data;

	while (!kthread_should_stop()) {
		pass_function();
		WRITE_ONCE(*count, *count + 1);
		/*
		 * Report a quiescent state to RCU Tasks: a test that replaces a site of several
		 * instructions waits for a grace period of RCU Tasks.
		 */
		cond_resched_tasks_rcu_qs();
	}
	return 0;
}

static void free_threads(void)
{
	kfree(threads);
	kfree(passes);
	threads = NULL;
	passes = NULL;
}

static int start_thread_on_cpu(unsigned int cpu)
{
	struct task_struct *thread;

	thread = kthread_create(call_pass_repeatedly, &passes[cpu], "kmarkers_test/%u", cpu);
	if (IS_ERR(thread))
		return PTR_ERR(thread);
	kthread_bind(thread, cpu);
	threads[cpu] = thread;
	wake_up_process(thread);
	return 0;
}

static bool have_all_threads_passed(void)
{
	unsigned int cpu;

	for (cpu = 0; cpu < nr_cpu_ids; cpu++)
		if (threads[cpu] && !READ_ONCE(passes[cpu]))
			return false;
	return true;
}

int test_start_threads(void (*pass)(void))
{
	unsigned int cpu;
	int err = 0;

	threads = kcalloc(nr_cpu_ids, sizeof(*threads), GFP_KERNEL);
	passes = kcalloc(nr_cpu_ids, sizeof(*passes), GFP_KERNEL);
	if (!threads || !passes) {
		free_threads();
		return -ENOMEM;
	}
	pass_function = pass;
	cpus_read_lock();
	for_each_online_cpu(cpu) {
		err = start_thread_on_cpu(cpu);
		if (err)
			break;
	}
	cpus_read_unlock();
	if (err) {
		test_stop_threads();
		return err;
	}
	while (!have_all_threads_passed())
		schedule_timeout_uninterruptible(1);
	return 0;
}

unsigned long test_stop_threads(void)
{
	unsigned long sum = 0;
	bool idle = false;
	unsigned int cpu;

	for (cpu = 0; cpu < nr_cpu_ids; cpu++) {
		if (!threads[cpu])
			continue;
		kthread_stop(threads[cpu]);
		sum += passes[cpu];
		idle |= !passes[cpu];
	}
	free_threads();
	return idle ? 0 : sum;
}

void test_wait_until_threads_passed(void)
{
	unsigned long before;
	unsigned int cpu;

	for (cpu = 0; cpu < nr_cpu_ids; cpu++) {
		if (!threads[cpu])
			continue;
		before = READ_ONCE(passes[cpu]);
		while (READ_ONCE(passes[cpu]) == before)
			schedule_timeout_uninterruptible(1);
	}
}

bool test_has_one_cpu(void)
{
	return num_online_cpus() == 1;
}

bool test_can_wait_for_tasks(void)
{
	return true;
}
