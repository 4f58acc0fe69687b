// SPDX-License-Identifier: GPL-2.0-only
/* The kernel thread that measures groups.  There is only one run at a time. */
#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "chunks.h"
#include "control.h"
#include "dormant.h"
#include "groups.h"
#include "observer_thread.h"
#include "run.h"
#include "thread.h"

struct bench_session bench_session = {
	.lock = __MUTEX_INITIALIZER(bench_session.lock),
	.config = { .blocks = 100, .seed = 1 },
};

/*
 * Return -ENXIO, and log the reason, if the CPU of this thread or of the observer thread went
 * offline since the thread was bound to the CPU.  The scheduler then moves a bound thread, and lets
 * it run on all CPUs.
 */
static int check_threads_stayed_on_cpus(void)
{
	if (!bench_observer_has_moved() && current->nr_cpus_allowed == 1)
		return 0;
	if (!bench_session.err)
		pr_err("benchmark run failed: a CPU that was measured went offline: keep all CPUs online, and start the run again\n");
	return -ENXIO;
}

/*
 * Return true if the run must end: because this was requested, because an error occurred, because a
 * CPU went offline, or because a marker is enabled.  Ignore enabled markers if the group that is
 * measured enables markers itself.
 */
static bool must_stop_measuring(void)
{
	if (!bench_session.err)
		WRITE_ONCE(bench_session.err, check_threads_stayed_on_cpus());
	if (!bench_groups[bench_session.current_group]->arms &&
	    bench_check_markers_disabled("benchmark run failed"))
		WRITE_ONCE(bench_session.err, -EBUSY);
	return bench_session.err || kthread_should_stop();
}

/*
 * Measure group @i.  Then check that no CPU went offline during the last block, and that all
 * markers are disabled, including the markers that the group enabled.
 */
static int measure_session_group(unsigned int i)
{
	int err = bench_run_group(bench_groups[i], &bench_session.results[i], must_stop_measuring);
	int moved = check_threads_stayed_on_cpus();

	return bench_session.err ?: moved ?:
	       bench_check_markers_disabled("benchmark run failed") ?: err;
}

static enum bench_state measure_session_groups(void)
{
	unsigned int i;
	int err;

	for (i = 0; i < bench_nr_groups; i++) {
		if (!(bench_session.groups & (1ULL << i)))
			continue;
		WRITE_ONCE(bench_session.current_group, i);
		err = measure_session_group(i);
		if (err == -EINTR)
			return BENCH_STOPPED;
		/*
		 * Skip a group that this machine cannot measure, unless it is the only group of the
		 * run.
		 */
		if (err == -ENODEV && hweight64(bench_session.groups) > 1) {
			bench_session.results[i].planned = 0;
			continue;
		}
		if (err) {
			WRITE_ONCE(bench_session.err, err);
			return BENCH_FAILED;
		}
	}
	return BENCH_DONE;
}

static int measure_session_in_thread(void *unused)
{
	enum bench_state end = measure_session_groups();

	/* Pairs with the acquire of readers: a reader of the new state sees complete results. */
	smp_store_release(&bench_session.state, end);
	return 0;
}

bool bench_is_running(void)
{
	/* Pairs with smp_store_release() in measure_session_in_thread(). */
	return smp_load_acquire(&bench_session.state) == BENCH_RUNNING;
}

/* Stop the thread if it still runs, and drop the reference to it. */
static void stop_bench_thread(void)
{
	lockdep_assert_held(&bench_session.lock);
	if (!bench_session.thread)
		return;
	kthread_stop(bench_session.thread);
	put_task_struct(bench_session.thread);
	bench_session.thread = NULL;
	/*
	 * If the state is still BENCH_RUNNING, kthread_stop() was called before the thread first
	 * ran, so measure_session_in_thread() was never called.
	 */
	if (bench_is_running())
		bench_session.state = BENCH_STOPPED;
}

static void free_results(struct bench_result *results)
{
	unsigned int i;

	for (i = 0; i < BENCH_MAX_GROUPS; i++)
		bench_free_result(&results[i]);
	kfree(results);
}

/*
 * Allocate the samples of a group.  To avoid the OOM killer, fail if the samples need more than
 * half of the available memory.
 */
static int alloc_group_result(const struct bench_group *group, struct bench_result *result)
{
	u64 free = bench_read_available_memory() / 2;
	u64 samples = bench_count_planned_samples(group, &bench_session.config);
	u64 bytes = samples * sizeof(*result->samples);

	if (bytes <= free)
		return bench_alloc_result(group, &bench_session.config, result);
	pr_err("benchmark run not started: samples of %s need %llu MiB, but only %llu MiB, half of the available memory, may be used: reduce bench/config/blocks\n",
	       group->name, bytes >> 20, free >> 20);
	return -ENOMEM;
}

/* Allocate the results of a new run, indexed by group.  Return an error pointer if that fails. */
static struct bench_result *alloc_run_results(u64 groups)
{
	struct bench_result *results = kcalloc(BENCH_MAX_GROUPS, sizeof(*results), GFP_KERNEL);
	unsigned int i;
	int err = 0;

	if (!results)
		return ERR_PTR(-ENOMEM);
	for (i = 0; i < bench_nr_groups && !err; i++)
		if (groups & (1ULL << i))
			err = alloc_group_result(bench_groups[i], &results[i]);
	if (!err)
		return results;
	free_results(results);
	return ERR_PTR(err);
}

/*
 * Replace the old results of each group in @groups by @results, and free the old results.
 */
static void replace_results(struct bench_result *results, u64 groups)
{
	unsigned int i;

	bench_session.runs++;
	for (i = 0; i < bench_nr_groups; i++) {
		if (!(groups & (1ULL << i)))
			continue;
		swap(bench_session.results[i], results[i]);
		bench_session.results[i].run = bench_session.runs;
	}
	free_results(results);
}

/*
 * Start a run of the groups in the bit mask @groups.  The old results of these groups are replaced
 * before the state becomes BENCH_RUNNING; if an error occurs, the old results are kept.
 */
static int start_benchmark_run(u64 groups)
{
	struct bench_result *results;
	struct task_struct *thread;
	int err;

	lockdep_assert_held(&bench_session.lock);
	if (bench_is_running())
		return -EBUSY;
	stop_bench_thread();
	if (!cpu_online(bench_session.config.cpu)) {
		pr_err("benchmark run not started: CPU %u is offline: change bench/config/cpu\n",
		       bench_session.config.cpu);
		return -EINVAL;
	}
	err = bench_check_markers_disabled("benchmark run not started");
	if (err)
		return err;
	results = alloc_run_results(groups);
	if (IS_ERR(results))
		return PTR_ERR(results);
	thread = kthread_create(measure_session_in_thread, NULL, "kmarkers_bench");
	if (IS_ERR(thread)) {
		free_results(results);
		return PTR_ERR(thread);
	}
	kthread_bind(thread, bench_session.config.cpu);
	get_task_struct(thread);
	replace_results(results, groups);
	bench_session.thread = thread;
	bench_session.groups = groups;
	bench_session.current_group = __ffs64(groups);
	bench_session.err = 0;
	bench_session.state = BENCH_RUNNING;
	wake_up_process(thread);
	return 0;
}

static int discard_all_results(void)
{
	unsigned int i;

	if (bench_is_running())
		return -EBUSY;
	stop_bench_thread();
	for (i = 0; i < bench_nr_groups; i++)
		bench_free_result(&bench_session.results[i]);
	bench_session.groups = 0;
	bench_session.state = BENCH_IDLE;
	return 0;
}

/* Run a command that was written to bench/control.  Return 0 or an error.  Modifies @text. */
int bench_run_command(char *text)
{
	enum bench_verb verb;
	u64 groups;
	int err;

	/*
	 * The lock also keeps the groups that the command names from being removed before the run
	 * starts.
	 */
	mutex_lock(&bench_session.lock);
	err = bench_parse_command(text, &verb, &groups);
	if (err)
		goto out;
	if (verb == BENCH_START)
		err = start_benchmark_run(groups);
	else if (verb == BENCH_STOP)
		stop_bench_thread();
	else
		err = discard_all_results();
out:
	mutex_unlock(&bench_session.lock);
	return err;
}

/* Remove group @number and its samples, and stop a run that includes the group. */
void bench_clear_group_slot(unsigned int number)
{
	lockdep_assert_held(&bench_session.lock);
	if (bench_is_running() && bench_session.groups & (1ULL << number))
		stop_bench_thread();
	bench_free_result(&bench_session.results[number]);
	bench_session.groups &= ~(1ULL << number);
	bench_groups[number] = NULL;
}

/* Stop the current run and free all results, before the module is unloaded. */
void bench_thread_exit(void)
{
	mutex_lock(&bench_session.lock);
	stop_bench_thread();
	discard_all_results();
	mutex_unlock(&bench_session.lock);
}
