// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lower bound of the cost of switching many_0 to many_19999: the stores and rounds of the
 * protocol, and nothing else; and the same stores while all other CPUs are stopped.  Each
 * byte that is stored is there already, so the functions do not change.
 *
 * For both, two times are measured: the duration, and the longest time for which a CPU that
 * executes none of these functions is kept from reading the clock meanwhile.
 */
#include <linux/compiler.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/stop_machine.h>
#include <linux/timekeeping.h>
#include <linux/vmalloc.h>
#include <asm/processor.h>
#include <asm/sync_core.h>

#include <kmarkers/hypervisor.h>
#include <kmarkers/table.h>

/* As in many.h. */
#define MANY_FUNCTIONS	20000
#define MANY_BYTES	16UL

/* Address of many_0.  objtool skips its section, because the function is called only by name. */
extern u8 *const many_first;

asm(".pushsection " KMARKERS_SECTION(test) ", \"aw\", @progbits\n"
	"many_first:	.quad many_functions\n"
	".popsection");

/* The functions may begin in the middle of a page. */
#define PAGES	(MANY_FUNCTIONS * MANY_BYTES / PAGE_SIZE + 2)

static unsigned int by_hand_us;
module_param(by_hand_us, uint, 0400);
MODULE_PARM_DESC(by_hand_us, "what the last stores and rounds took");

static unsigned int stopped_us;
module_param(stopped_us, uint, 0400);
MODULE_PARM_DESC(stopped_us, "what the last stores under stop_machine() took");

static unsigned int gap_us;
module_param(gap_us, uint, 0600);
MODULE_PARM_DESC(gap_us, "the longest that the CPU which is watched was kept from the clock");

static void serialise(void *unused)
{
	sync_core();
}

static void no_round(void)
{
}

static void sync_all(void)
{
	on_each_cpu(serialise, NULL, 1);
}

/* Store again what emulators may have missed: see patcher_text_rewrite(). */
static void store_first_again(u8 *first)
{
	unsigned int i;

	if (!kmarkers_is_emulated())
		return;
	for (i = 0; i < MANY_FUNCTIONS; i++) {
		u8 *site = first + i * MANY_BYTES;

		if (!i || !(((unsigned long)site & ~PAGE_MASK) / MANY_BYTES))
			asm volatile("invlpg %0" : : "m" (*site) : "memory");
		WRITE_ONCE(*site, READ_ONCE(*site));
	}
}

static void store_first(u8 *first)
{
	unsigned int i;

	for (i = 0; i < MANY_FUNCTIONS; i++)
		WRITE_ONCE(first[i * MANY_BYTES], READ_ONCE(first[i * MANY_BYTES]));
}

static void store_all(u8 *first, void (*after_pass)(void))
{
	unsigned int i;

	store_first(first);
	after_pass();
	for (i = 0; i < MANY_FUNCTIONS; i++) {
		u32 *tail = (u32 *)(first + i * MANY_BYTES + 1);

		WRITE_ONCE(*tail, READ_ONCE(*tail));
	}
	after_pass();
	store_first(first);
	after_pass();
	store_first_again(first);
}

static int store_stopped(void *first)
{
	store_all(first, no_round);
	return 0;
}

/* Map the functions through an alias of their pages, as in struct patcher_text_alias. */
static void *map_functions(void)
{
	static struct page *pages[PAGES];
	unsigned long addr = (unsigned long)many_first & PAGE_MASK;
	unsigned int nr = 0;
	void *alias;

	for (; addr < (unsigned long)many_first + MANY_FUNCTIONS * MANY_BYTES; addr += PAGE_SIZE)
		pages[nr++] = vmalloc_to_page((void *)addr);
	alias = vmap(pages, nr, VM_MAP, PAGE_KERNEL);
	return alias ? alias + offset_in_page(many_first) : NULL;
}

static int measure(bool stopped, unsigned int *took)
{
	u64 start = ktime_get_ns();
	void *first = map_functions();
	int err = 0;

	if (!first)
		return -ENOMEM;
	if (stopped)
		err = stop_machine(store_stopped, first, NULL);
	else
		store_all(first, sync_all);
	vunmap((void *)((unsigned long)first & PAGE_MASK));
	vm_unmap_aliases();
	*took = div_u64(ktime_get_ns() - start, 1000);
	return err;
}

static int by_hand(const char *text, const struct kernel_param *unused)
{
	return measure(false, &by_hand_us);
}

static const struct kernel_param_ops by_hand_ops = {
	.set = by_hand,
};
module_param_cb(by_hand, &by_hand_ops, NULL, 0200);
MODULE_PARM_DESC(by_hand, "store what is there, with a round after each pass");

static int stopped(const char *text, const struct kernel_param *unused)
{
	return measure(true, &stopped_us);
}

static const struct kernel_param_ops stopped_ops = {
	.set = stopped,
};
module_param_cb(stopped, &stopped_ops, NULL, 0200);
MODULE_PARM_DESC(stopped, "store the same under stop_machine()");

static int watch_clock(void *unused)
{
	u64 last = ktime_get_ns(), now;

	while (!kthread_should_stop()) {
		now = ktime_get_ns();
		if (now - last > gap_us * 1000ULL)
			WRITE_ONCE(gap_us, div_u64(now - last, 1000));
		last = now;
		/* cond_resched() also lets stop_machine() take the CPU. */
		cond_resched();
	}
	return 0;
}

/* No lock protects this: the kernel serialises writes to parameters of a module. */
static struct task_struct *watcher;

static int start_watching(void)
{
	unsigned int cpu = cpumask_any_but(cpu_online_mask, raw_smp_processor_id());
	struct task_struct *task;

	if (watcher || cpu >= nr_cpu_ids)
		return -ENODEV;
	task = kthread_create(watch_clock, NULL, "many_watch");
	if (IS_ERR(task))
		return PTR_ERR(task);
	/* Keep the module loaded while the thread runs. */
	__module_get(THIS_MODULE);
	kthread_bind(task, cpu);
	sched_set_fifo(task);
	watcher = task;
	wake_up_process(task);
	return 0;
}

static int stop_watching(void)
{
	if (!watcher)
		return -ENODEV;
	kthread_stop(watcher);
	watcher = NULL;
	module_put(THIS_MODULE);
	return 0;
}

static int watch(const char *text, const struct kernel_param *unused)
{
	bool on;
	int err = kstrtobool(text, &on);

	return err ?: on ? start_watching() : stop_watching();
}

static const struct kernel_param_ops watch_ops = {
	.set = watch,
};
module_param_cb(watch, &watch_ops, NULL, 0200);
MODULE_PARM_DESC(watch, "1 has another CPU watch the clock, before all other threads; 0 ends that");
