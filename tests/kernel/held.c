// SPDX-License-Identifier: GPL-2.0-only
/*
 * A run is changed while a task is preempted inside it, and a prefix while a task is preempted at
 * it.  The task executes a sti with an interrupt pending, which is delivered after the next
 * instruction.  The interrupt wakes a thread of higher priority, which keeps the task from running.
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
 * The task is kept there until the thread that changes the run is seen asleep LOOKS times in a
 * row, a millisecond apart; but LIMIT_MS at most, which is less than the time for which a thread
 * of real-time priority may run while others wait.  A slow machine may need several tries.
 */
#define LOOKS		20
#define LIMIT_MS	700
#define TRIES		10

static const char owner[] = "test_held";
static const u8 run[RUN_LEN] = { RUN }, skip[RUN_LEN] = { 0xeb, RUN_LEN - 2, 0x90, 0x90, 0x90 };
static struct patcher_site site;
static struct patcher_table table = { .sites = &site, .nr = 1, .owner = owner };
static call_single_data_t interrupt;

/* The number to which the task adds, by the instruction with the prefix. */
static u32 number;

/**
 * struct held - the task, and the thread that keeps it from running
 * @task: executes the run, with interrupts off until sti
 * @keeper: runs on the same CPU
 * @changer: changes the run, on another CPU
 * @cpu: the CPU of the first two
 * @ready: the task waits for @sent, with interrupts off
 * @sent: an interrupt is pending
 * @passed: the task has left the run, or has added
 * @kept: the keeper runs, and has set @inside
 * @number: value of the variable number when the keeper ran
 * @inside: the task was preempted before it left the run, or the addition
 * @waited: the changer slept while the task was kept
 * @released: the keeper lets the task go on
 * @early: the change ended before @released was set
 * @ended: @early is set
 * @changed: the run is replaced
 */
static struct held {
	struct task_struct *task, *keeper, *changer;
	unsigned int cpu;
	u32 number;
	bool ready, sent;
	bool passed, kept, inside, waited, released, early, ended, changed;
} held;

/* Places of the run and the prefix.  objtool allows no other reference into a function. */
extern const s32 test_held_record, test_held_prefix_record;

#define RECORD(name, label)						\
	".pushsection .discard_test_held, \"aw\", @progbits\n"		\
	"	.balign 4\n"						\
	name ":\n"							\
	"	.long " label " - .\n"					\
	".popsection\n"

static u8 *held_run(void)
{
	return (u8 *)&test_held_record + test_held_record;
}

static u8 *held_prefix(void)
{
	return (u8 *)&test_held_prefix_record + test_held_prefix_record;
}

static void await_interrupt(void)
{
	raw_local_irq_disable();
	WRITE_ONCE(held.ready, true);
	while (!READ_ONCE(held.sent))
		cpu_relax();
}

static noinline void pass_held_run(void)
{
	await_interrupt();
	asm volatile("77:	.byte " __stringify(RUN) "\n"
		     RECORD("test_held_record", "77b")
		     "	movb $1, %0\n" : "=m" (held.passed) : : "memory");
	/* The instruction that replaces the run leaves interrupts off. */
	raw_local_irq_enable();
}

/* The interrupt is delivered after the nop, before the prefix. */
static noinline void pass_held_prefix(void)
{
	u32 one = 1;

	await_interrupt();
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

static int held_pass(void *pass)
{
	((void (*)(void))pass)();
	return wait_for_stop();
}

static void wake_keeper(void *unused)
{
	wake_up_process(held.keeper);
}

static bool has_begun(void)
{
	return READ_ONCE(*held_run()) == INT3;
}

/*
 * Keep the CPU until the change has ended, or waits.  The change need not wait for this thread,
 * which passes through quiescent states.
 */
static void keep_cpu(void)
{
	u64 start = ktime_get_ns();
	unsigned int looks = 0;

	while (!smp_load_acquire(&held.ended) && looks < LOOKS &&
	       ktime_get_ns() - start < LIMIT_MS * 1000000ULL) {
		cond_resched_tasks_rcu_qs();
		mdelay(1);
		looks = has_begun() && !READ_ONCE(held.changer->on_rq) ? looks + 1 : 0;
	}
	held.waited = looks == LOOKS;
}

static int held_keep(void *unused)
{
	held.number = READ_ONCE(number);
	held.inside = !READ_ONCE(held.passed);
	/* Pairs with the acquire in change_meanwhile(). */
	smp_store_release(&held.kept, true);
	if (held.inside)
		keep_cpu();
	/* Pairs with the acquire in change_meanwhile(). */
	smp_store_release(&held.released, true);
	return wait_for_stop();
}

static int replace_run(const u8 *from, const u8 *to)
{
	struct patcher_poke poke = { .addr = held_run(), .len = RUN_LEN };
	int err;

	memcpy(poke.old, from, RUN_LEN);
	memcpy(poke.new, to, RUN_LEN);
	err = patcher_apply(owner, &poke, 1);
	if (!err)
		held.changed = to == skip;
	return err;
}

static int change_run(void)
{
	return replace_run(run, skip);
}

static int change_prefix(void)
{
	struct patcher_poke poke = { .addr = held_prefix(), .len = 1 };

	poke.old[0] = READ_ONCE(*held_prefix());
	poke.new[0] = LOCK;
	return patcher_store_prefixes(owner, &poke, 1);
}

/* Make a change, on another CPU than the task and the keeper. */
static long change_meanwhile(void *change)
{
	int err;

	held.changer = current;
	while (!READ_ONCE(held.ready))
		schedule_timeout_uninterruptible(1);
	err = smp_call_function_single_async(held.cpu, &interrupt);
	/* Wait until the interrupt is pending: the task must not continue before. */
	udelay(100);
	WRITE_ONCE(held.sent, true);
	if (err)
		return err;
	/* Pairs with the release in held_keep(). */
	while (!smp_load_acquire(&held.kept))
		schedule_timeout_uninterruptible(1);
	if (!held.inside)
		return 0;
	err = ((int (*)(void))change)();
	/* Pairs with the release in held_keep(). */
	held.early = !smp_load_acquire(&held.released);
	/* Pairs with the acquire in keep_cpu(). */
	smp_store_release(&held.ended, true);
	return err;
}

static int held_start(struct task_struct **thread, int (*function)(void *data), void *data,
		      const char *name)
{
	struct task_struct *task = kthread_create(function, data, "%s", name);

	if (IS_ERR(task))
		return PTR_ERR(task);
	kthread_bind(task, held.cpu);
	*thread = task;
	return 0;
}

void held_forget(void)
{
	if (held.task)
		kthread_stop(held.task);
	if (held.keeper)
		kthread_stop(held.keeper);
	if (held.changed)
		replace_run(skip, run);
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

static const char *hold_once(void (*pass)(void), int (*change)(void))
{
	unsigned int here = cpumask_first(cpu_online_mask);

	held.cpu = cpumask_next(here, cpu_online_mask);
	if (held.cpu >= nr_cpu_ids)
		return "SKIP a task is kept on a second CPU";
	interrupt.func = wake_keeper;
	EXPECT(!held_start(&held.keeper, held_keep, NULL, "test_keeper"));
	sched_set_fifo(held.keeper);
	EXPECT(!held_start(&held.task, held_pass, (void *)pass, "test_held"));
	wake_up_process(held.task);
	EXPECT(!work_on_cpu(here, change_meanwhile, (void *)change));
	return held.inside ? NULL : "SKIP this kernel preempts no task there";
}

static const char *hold_in_run(void)
{
	const char *failed;

	EXPECT(!register_site(held_run(), RUN_LEN, PATCHER_SITE_RUN));
	failed = hold_once(pass_held_run, change_run);
	EXPECT(failed || held.changed);
	EXPECT(failed || !held.early);
	return failed;
}

/* The change waits for the task, and the task continues in the old run. */
const char *patcher_waits_for_held(void)
{
	const char *failed;
	unsigned int i;

	for (i = 0; i < TRIES; i++) {
		held_forget();
		failed = hold_in_run();
		if (failed || held.waited)
			return failed;
	}
	return "the change was not seen to wait";
}

static bool has_passed(void)
{
	unsigned int i;

	for (i = 0; i < LIMIT_MS && !READ_ONCE(held.passed); i++)
		msleep(1);
	return READ_ONCE(held.passed);
}

static const char *hold_at_prefix(void)
{
	const char *failed;

	number = 5;
	EXPECT(!register_site(held_prefix(), 1, PATCHER_SITE_PREFIX));
	/* From the second time on, the prefix is LOCK already. */
	EXPECT(READ_ONCE(*held_prefix()) == DS || READ_ONCE(*held_prefix()) == LOCK);
	failed = hold_once(pass_held_prefix, change_prefix);
	if (failed)
		return failed;
	EXPECT(held.number == 5);
	EXPECT(READ_ONCE(*held_prefix()) == LOCK);
	EXPECT(has_passed() && READ_ONCE(number) == 6);
	return NULL;
}

/* A task that is preempted at a DS prefix is not waited for, and continues with the LOCK prefix. */
const char *patcher_prefix_of_held(void)
{
	const char *failed;
	unsigned int i;

	for (i = 0; i < TRIES; i++) {
		held_forget();
		failed = hold_at_prefix();
		if (failed || held.early)
			return failed;
	}
	return "no change ended while the task was kept";
}
