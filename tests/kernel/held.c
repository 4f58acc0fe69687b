// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests that change code in which a task is preempted: a run, which is a site of several
 * instructions, or a prefix byte.  The task executes sti while an interrupt is pending; the CPU
 * delivers the interrupt after the next instruction.  The interrupt wakes a thread of higher
 * priority on the same CPU.  This thread keeps the task from running during the change.
 */
#include <linux/compiler.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/irqflags.h>
#include <linux/kthread.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>

#include <kmarkers/patcher.h>

#include "../common/cases.h"

#define RUN		0xfb, 0x90, 0x90, 0x90, 0x90
#define RUN_LEN		5
#define INT3		0xcc
#define LOCK		0xf0
#define DS		0x3e

/*
 * The preempted task may run again when the thread that changes the run was asleep in CHECKS
 * consecutive checks, which are 1 ms apart.  The task is kept from running for at most LIMIT_MS,
 * because the kernel throttles real-time threads that run longer.  On a slow machine, several of
 * the TRIES attempts may fail.
 */
#define CHECKS		20
#define LIMIT_MS	700
#define TRIES		10

static const char owner[] = "test_held";
static const u8 run[RUN_LEN] = { RUN }, skip[RUN_LEN] = { 0xeb, RUN_LEN - 2, 0x90, 0x90, 0x90 };
static struct patcher_site site;
static struct patcher_table table = { .sites = &site, .nr = 1, .owner = owner };
static call_single_data_t interrupt;

/* Variable that the instruction with the prefix, xadd, increments. */
static u32 number;

/**
 * struct held - the preempted task, the thread that preempts it, and the thread that changes code
 * @task: thread that executes the run or the instruction with the prefix
 * @keeper: thread that preempts @task, on the same CPU
 * @changer: thread that changes the code, on another CPU
 * @cpu: CPU of @task and @keeper
 * @ready: true when @task waits for @sent, with interrupts off
 * @sent: true when an interrupt is pending on @cpu
 * @passed: true when @task has executed the run or the instruction with the prefix
 * @kept: true when @keeper runs and has set @inside
 * @number: value of the variable number when @keeper began to run
 * @inside: true if @task was preempted before it set @passed
 * @waited: true if @changer was found asleep in the change while @task could not run
 * @released: true when @keeper no longer keeps @task from running
 * @early: true if the change ended before @released was set
 * @ended: true when the change has ended and @early is valid
 * @changed: true while the run is replaced
 */
static struct held {
	struct task_struct *task, *keeper, *changer;
	unsigned int cpu;
	u32 number;
	bool ready, sent;
	bool passed, kept, inside, waited, released, early, ended, changed;
} held;

/*
 * Each variable holds the distance from itself to the run or to the prefix.  Both variables are in
 * a section that objtool skips, because objtool reports a reference into a function from any other
 * section.
 */
extern const s32 test_held_record, test_held_prefix_record;

#define RECORD(name, label)						\
	".pushsection .discard_test_held, \"aw\", @progbits\n"		\
	"	.balign 4\n"						\
	name ":\n"							\
	"	.long " label " - .\n"					\
	".popsection\n"

static u8 *get_held_multi_insn_site(void)
{
	return (u8 *)&test_held_record + test_held_record;
}

static u8 *get_held_prefix(void)
{
	return (u8 *)&test_held_prefix_record + test_held_prefix_record;
}

/* Turn interrupts off, and wait until an interrupt is pending. */
static void wait_for_pending_interrupt(void)
{
	raw_local_irq_disable();
	WRITE_ONCE(held.ready, true);
	while (!READ_ONCE(held.sent))
		cpu_relax();
}

static noinline void execute_held_multi_insn_site(void)
{
	wait_for_pending_interrupt();
	asm volatile("77:	.byte " __stringify(RUN) "\n"
		     RECORD("test_held_record", "77b")
		     "	movb $1, %0\n" : "=m" (held.passed) : : "memory");
	/* The run's first instruction, sti, was not executed if a jump has replaced the run. */
	raw_local_irq_enable();
}

/* The pending interrupt is delivered one instruction after sti: between the nop and the prefix. */
static noinline void execute_held_prefix(void)
{
	u32 one = 1;

	wait_for_pending_interrupt();
	asm volatile("	sti\n"
		     "	nop\n"
		     "77:	.byte 0x3e\n"
		     "	xaddl %0, %1\n"
		     RECORD("test_held_prefix_record", "77b")
		     "	movb $1, %2\n"
		     : "+r" (one), "+m" (number), "=m" (held.passed) : : "cc", "memory");
}

static int wait_for_stop(void)
{
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

static int call_pass_and_wait(void *pass)
{
	((void (*)(void))pass)();
	return wait_for_stop();
}

static void wake_preempting_thread(void *unused)
{
	wake_up_process(held.keeper);
}

static bool has_change_begun(void)
{
	return READ_ONCE(*get_held_multi_insn_site()) == INT3;
}

/*
 * Keep the CPU until the change has ended, or was found to wait for the preempted task.
 * cond_resched_tasks_rcu_qs() reports quiescent states, so that the change need not wait for this
 * thread.
 */
static void keep_cpu_until_change_ends(void)
{
	u64 start = ktime_get_ns();
	unsigned int asleep = 0;

	while (!smp_load_acquire(&held.ended) && asleep < CHECKS &&
	       ktime_get_ns() - start < LIMIT_MS * 1000000ULL) {
		cond_resched_tasks_rcu_qs();
		mdelay(1);
		asleep = has_change_begun() && !READ_ONCE(held.changer->on_rq) ? asleep + 1 : 0;
	}
	held.waited = asleep == CHECKS;
}

static int keep_task_preempted(void *unused)
{
	held.number = READ_ONCE(number);
	held.inside = !READ_ONCE(held.passed);
	/* Pairs with the acquire in call_change_while_preempted(). */
	smp_store_release(&held.kept, true);
	if (held.inside)
		keep_cpu_until_change_ends();
	/* Pairs with the acquire in call_change_while_preempted(). */
	smp_store_release(&held.released, true);
	return wait_for_stop();
}

static int replace_multi_insn_site(const u8 *from, const u8 *to)
{
	struct patcher_poke poke = { .addr = get_held_multi_insn_site(), .len = RUN_LEN };
	int err;

	memcpy(poke.old, from, RUN_LEN);
	memcpy(poke.new, to, RUN_LEN);
	err = patcher_apply(owner, &poke, 1);
	if (!err)
		held.changed = to == skip;
	return err;
}

static int replace_multi_insn_site_by_skip(void)
{
	return replace_multi_insn_site(run, skip);
}

static int store_lock_in_held_prefix(void)
{
	struct patcher_poke poke = { .addr = get_held_prefix(), .len = 1 };

	poke.old[0] = READ_ONCE(*get_held_prefix());
	poke.new[0] = LOCK;
	return patcher_store_prefixes(owner, &poke, 1);
}

/*
 * Call @change while the task is preempted.  This function runs on a different CPU from the task.
 */
static long call_change_while_preempted(void *change)
{
	int err;

	held.changer = current;
	while (!READ_ONCE(held.ready))
		schedule_timeout_uninterruptible(1);
	err = smp_call_function_single_async(held.cpu, &interrupt);
	/* Let the interrupt become pending before the task continues. */
	udelay(100);
	WRITE_ONCE(held.sent, true);
	if (err)
		return err;
	/* Pairs with the release in keep_task_preempted(). */
	while (!smp_load_acquire(&held.kept))
		schedule_timeout_uninterruptible(1);
	if (!held.inside)
		return 0;
	err = ((int (*)(void))change)();
	/* Pairs with the release in keep_task_preempted(). */
	held.early = !smp_load_acquire(&held.released);
	/* Pairs with the acquire in keep_cpu_until_change_ends(). */
	smp_store_release(&held.ended, true);
	return err;
}

static int create_held_thread(struct task_struct **thread, int (*function)(void *data), void *data,
			      const char *name)
{
	struct task_struct *task = kthread_create(function, data, "%s", name);

	if (IS_ERR(task))
		return PTR_ERR(task);
	kthread_bind(task, held.cpu);
	*thread = task;
	return 0;
}

void held_cleanup(void)
{
	if (held.task)
		kthread_stop(held.task);
	if (held.keeper)
		kthread_stop(held.keeper);
	if (held.changed)
		replace_multi_insn_site(skip, run);
	if (table.module)
		patcher_unregister(&table);
	table.module = NULL;
	memset(&held, 0, sizeof(held));
}

static int register_site(u8 *addr, unsigned int len, unsigned int flags)
{
	int err;

	site.addr = (long)addr - (long)&site.addr;
	site.len = len;
	site.flags = flags;
	table.module = THIS_MODULE;
	err = patcher_register(&table);
	if (err)
		table.module = NULL;
	return err;
}

static const char *change_while_preempting(void (*pass)(void), int (*change)(void))
{
	unsigned int here = cpumask_first(cpu_online_mask);

	held.cpu = cpumask_next(here, cpu_online_mask);
	if (held.cpu >= nr_cpu_ids)
		return "SKIP this test needs a second CPU, for the preempted task";
	interrupt.func = wake_preempting_thread;
	EXPECT(!create_held_thread(&held.keeper, keep_task_preempted, NULL, "test_keeper"));
	sched_set_fifo(held.keeper);
	EXPECT(!create_held_thread(&held.task, call_pass_and_wait, (void *)pass, "test_held"));
	wake_up_process(held.task);
	EXPECT(!work_on_cpu(here, call_change_while_preempted, (void *)change));
	return held.inside ? NULL : "SKIP this kernel preempts no task there";
}

static const char *change_multi_insn_site_while_preempted(void)
{
	const char *failed;

	EXPECT(!register_site(get_held_multi_insn_site(), RUN_LEN, PATCHER_SITE_RUN));
	failed = change_while_preempting(execute_held_multi_insn_site,
					 replace_multi_insn_site_by_skip);
	EXPECT(failed || held.changed);
	EXPECT(failed || !held.early);
	return failed;
}

/* Replace a run in which a task is preempted: the change waits until the task has left the run. */
const char *patcher_waits_for_a_held_task(void)
{
	const char *failed;
	unsigned int i;

	for (i = 0; i < TRIES; i++) {
		held_cleanup();
		failed = change_multi_insn_site_while_preempted();
		if (failed || held.waited)
			return failed;
	}
	return "no attempt showed that the change waits for the preempted task";
}

static bool wait_until_task_passed(void)
{
	unsigned int i;

	for (i = 0; i < LIMIT_MS && !READ_ONCE(held.passed); i++)
		msleep(1);
	return READ_ONCE(held.passed);
}

static const char *store_lock_prefix_while_preempted(void)
{
	const char *failed;

	number = 5;
	EXPECT(!register_site(get_held_prefix(), 1, PATCHER_SITE_PREFIX));
	/* The prefix is LOCK already if this case has run before. */
	EXPECT(READ_ONCE(*get_held_prefix()) == DS || READ_ONCE(*get_held_prefix()) == LOCK);
	failed = change_while_preempting(execute_held_prefix, store_lock_in_held_prefix);
	if (failed)
		return failed;
	EXPECT(held.number == 5);
	EXPECT(READ_ONCE(*get_held_prefix()) == LOCK);
	EXPECT(wait_until_task_passed() && READ_ONCE(number) == 6);
	return NULL;
}

/*
 * Store LOCK over a DS prefix at which a task is preempted: the change does not wait for the task.
 */
const char *patcher_exchanges_prefix_of_a_held_task(void)
{
	const char *failed;
	unsigned int i;

	for (i = 0; i < TRIES; i++) {
		held_cleanup();
		failed = store_lock_prefix_while_preempted();
		if (failed || held.early)
			return failed;
	}
	return "no attempt showed a change that ends while the task is preempted";
}
