// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures a lower bound of the time in which the recorded functions (built with entry.mk) many_0
 * to many_19999 can be switched: the time of the patcher's stores and IPI rounds alone.  Each byte
 * is stored with its old value, so the functions do not change.
 *
 * Also measures, on a CPU that executes none of the functions, the longest gap between two readings
 * of the clock.  The parameter "interrupt" sends IPI rounds without stores, for comparison with the
 * gap during a switch.
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
#include <linux/timekeeping.h>
#include <linux/vmalloc.h>
#include <asm/processor.h>
#include <asm/sync_core.h>

#include <kmarkers/hypervisor.h>
#include <kmarkers/table.h>

/* Number of functions, and size of each function in bytes, as in many.h. */
#define MANY_FUNCTIONS	20000
#define MANY_BYTES	16UL

/*
 * Pointer to many_0, in a section that objtool skips: elsewhere objtool would report that a pointer
 * refers to a function without ENDBR.  The function is never called through the pointer.
 */
extern u8 *const many_first;

asm(".pushsection " KMARKERS_SECTION(test) ", \"aw\", @progbits\n"
	"many_first:	.quad many_functions\n"
	".popsection");

/* Maximum number of pages of the functions, which may begin and end in the middle of a page. */
#define PAGES	(MANY_FUNCTIONS * MANY_BYTES / PAGE_SIZE + 2)

static unsigned int by_hand_us;
module_param(by_hand_us, uint, 0400);
MODULE_PARM_DESC(by_hand_us, "duration of the last stores and IPI rounds in microseconds");

static ulong gap_ns;
module_param(gap_ns, ulong, 0600);
MODULE_PARM_DESC(gap_ns, "longest time between two readings of the clock in ns");

static void serialise_cpu(void *unused)
{
	sync_core();
}

static void serialise_all_cpus(void)
{
	on_each_cpu(serialise_cpu, NULL, 1);
}

/*
 * Store the first bytes a second time, as the patcher does under emulators, which may miss a store.
 */
static void rewrite_bytes_if_emulated(u8 *first)
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

static void rewrite_first_bytes(u8 *first)
{
	unsigned int i;

	for (i = 0; i < MANY_FUNCTIONS; i++)
		WRITE_ONCE(first[i * MANY_BYTES], READ_ONCE(first[i * MANY_BYTES]));
}

static void rewrite_all_bytes(u8 *first)
{
	unsigned int i;

	rewrite_first_bytes(first);
	serialise_all_cpus();
	for (i = 0; i < MANY_FUNCTIONS; i++) {
		u32 *tail = (u32 *)(first + i * MANY_BYTES + 1);

		WRITE_ONCE(*tail, READ_ONCE(*tail));
	}
	serialise_all_cpus();
	rewrite_first_bytes(first);
	serialise_all_cpus();
	rewrite_bytes_if_emulated(first);
}

/* Map the pages of the functions a second time, writable, as the patcher does for a batch. */
static void *map_functions_writable(void)
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

static int measure_stores_by_hand(const char *text, const struct kernel_param *unused)
{
	u64 start = ktime_get_ns();
	void *first = map_functions_writable();

	if (!first)
		return -ENOMEM;
	rewrite_all_bytes(first);
	vunmap((void *)((unsigned long)first & PAGE_MASK));
	vm_unmap_aliases();
	by_hand_us = div_u64(ktime_get_ns() - start, 1000);
	return 0;
}

static const struct kernel_param_ops by_hand_ops = {
	.set = measure_stores_by_hand,
};
module_param_cb(by_hand, &by_hand_ops, NULL, 0200);
MODULE_PARM_DESC(by_hand, "any value: store all bytes, with an IPI round after each pass");

static void spin_for_us(unsigned int us)
{
	u64 end = ktime_get_ns() + us * 1000ULL;

	while (ktime_get_ns() < end)
		cpu_relax();
}

static int send_three_ipi_rounds(const char *text, const struct kernel_param *unused)
{
	unsigned int us, i;
	int err = kstrtouint(text, 0, &us);

	if (err)
		return err;
	for (i = 0; i < 3; i++) {
		spin_for_us(us / 4);
		serialise_all_cpus();
	}
	spin_for_us(us / 4);
	return 0;
}

static const struct kernel_param_ops interrupt_ops = {
	.set = send_three_ipi_rounds,
};
module_param_cb(interrupt, &interrupt_ops, NULL, 0200);
MODULE_PARM_DESC(interrupt, "write N to send three rounds of IPIs, without a store, in N us");

/*
 * Read the clock.  If the time since the reading @last exceeds gap_ns, store that time in gap_ns.
 * Return the new reading.
 */
static u64 record_longest_gap(u64 last)
{
	u64 now = ktime_get_ns();

	if (now - last > gap_ns)
		WRITE_ONCE(gap_ns, now - last);
	return now;
}

/*
 * Read the clock in a loop, and set gap_ns to the longest time between two readings.  A last
 * reading after the loop is needed for a gap that lasts until the thread is stopped.
 */
static int watch_clock(void *unused)
{
	u64 last = ktime_get_ns();

	while (!kthread_should_stop()) {
		last = record_longest_gap(last);
		/* Without kernel preemption, stop_machine() can run on this CPU only here. */
		cond_resched();
	}
	record_longest_gap(last);
	return 0;
}

/* The thread of watch_clock(), or NULL.  The kernel serialises writes to a module's parameters. */
static struct task_struct *watcher;

static int start_watcher_thread(void)
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

static int stop_watcher_thread(void)
{
	if (!watcher)
		return -ENODEV;
	kthread_stop(watcher);
	watcher = NULL;
	module_put(THIS_MODULE);
	return 0;
}

static int switch_watcher_thread(const char *text, const struct kernel_param *unused)
{
	bool on;
	int err = kstrtobool(text, &on);

	return err ?: on ? start_watcher_thread() : stop_watcher_thread();
}

static const struct kernel_param_ops watch_ops = {
	.set = switch_watcher_thread,
};
module_param_cb(watch, &watch_ops, NULL, 0200);
MODULE_PARM_DESC(watch, "1: start a real-time thread on another CPU that sets gap_ns; 0: stop it");
