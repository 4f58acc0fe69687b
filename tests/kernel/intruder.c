// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two faults for tests of the patcher.  The first fault is a foreign breakpoint: an int3 that
 * neither kmarkers nor a kprobe has stored, with a die notifier that runs after all other die
 * notifiers.  The second fault is a wrong page: in one task, vmalloc_to_page() returns a page that
 * is not the page of the text.
 */
#include <linux/errno.h>
#include <linux/hrtimer.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/notifier.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <asm/sync_core.h>

#include "../common/test.h"

#define INT3	0xcc

/*
 * Nanoseconds after which a timer removes the breakpoint, so that a CPU that traps in a loop can
 * continue and the test can fail.
 */
#define REMOVE_NS	(2 * NSEC_PER_SEC)

static struct {
	u8 *addr;
	void *page;		/* alias of the breakpoint's page; NULL while there is no alias */
	u8 *alias;
	u8 byte;
	unsigned int traps;
	struct hrtimer timer;
} planted;

static int count_planted_breakpoint(struct notifier_block *nb, unsigned long event, void *data)
{
	struct die_args *args = data;

	if (event != DIE_INT3 || user_mode(args->regs) ||
	    args->regs->ip - 1 != (unsigned long)planted.addr)
		return NOTIFY_DONE;
	planted.traps++;
	return NOTIFY_STOP;
}
NOKPROBE_SYMBOL(count_planted_breakpoint);

static struct notifier_block last = {
	.notifier_call = count_planted_breakpoint, .priority = -INT_MAX + 1,
};

static enum hrtimer_restart remove_breakpoint_late(struct hrtimer *timer)
{
	WRITE_ONCE(*planted.alias, planted.byte);
	return HRTIMER_NORESTART;
}

static void serialise_cpu(void *unused)
{
	sync_core();
}

int test_plant_breakpoint(u8 *addr)
{
	struct page *page = vmalloc_to_page(addr);
	int err;

	planted.page = vmap(&page, 1, VM_MAP, PAGE_KERNEL);
	if (!planted.page)
		return -ENOMEM;
	planted.addr = addr;
	planted.alias = planted.page + offset_in_page(addr);
	planted.byte = *addr;
	planted.traps = 0;
	err = register_die_notifier(&last);
	if (err) {
		vunmap(planted.page);
		planted.page = NULL;
		return err;
	}
	hrtimer_setup(&planted.timer, remove_breakpoint_late, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	hrtimer_start(&planted.timer, ns_to_ktime(REMOVE_NS), HRTIMER_MODE_REL);
	WRITE_ONCE(*planted.alias, INT3);
	on_each_cpu(serialise_cpu, NULL, 1);
	return 0;
}

unsigned int test_remove_breakpoint(void)
{
	if (!planted.page)
		return 0;
	hrtimer_cancel(&planted.timer);
	WRITE_ONCE(*planted.alias, planted.byte);
	on_each_cpu(serialise_cpu, NULL, 1);
	unregister_die_notifier(&last);
	vunmap(planted.page);
	planted.page = NULL;
	return planted.traps;
}

static struct {
	struct page *page;
	struct task_struct *task;
	unsigned long text;
	bool shown;
} wrong;

static int skip_other_walks(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	/*
	 * If skip_other_walks() returns 0, the kretprobe calls return_wrong_page() when
	 * vmalloc_to_page() returns.
	 */
	return current != wrong.task || (regs->di & PAGE_MASK) != wrong.text;
}
NOKPROBE_SYMBOL(skip_other_walks);

static int return_wrong_page(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	wrong.shown = true;
	regs_set_return_value(regs, (unsigned long)wrong.page);
	return 0;
}
NOKPROBE_SYMBOL(return_wrong_page);

static struct kretprobe walk;

static void stop_returning_wrong_page(void)
{
	if (!wrong.page)
		return;
	unregister_kretprobe(&walk);
	__free_page(wrong.page);
	wrong.page = NULL;
}

int test_map_wrong_page(const void *addr)
{
	int err;

	stop_returning_wrong_page();
	if (!addr)
		return 0;
	wrong.page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (!wrong.page)
		return -ENOMEM;
	wrong.task = current;
	wrong.text = (unsigned long)addr & PAGE_MASK;
	wrong.shown = false;
	memset(&walk, 0, sizeof(walk));
	walk.kp.symbol_name = "vmalloc_to_page";
	walk.entry_handler = skip_other_walks;
	walk.handler = return_wrong_page;
	err = register_kretprobe(&walk);
	if (err) {
		__free_page(wrong.page);
		wrong.page = NULL;
	}
	return err;
}

bool test_wrong_page_was_mapped(void)
{
	return wrong.shown;
}

bool test_wrong_page_is_unchanged(void)
{
	return !memchr_inv(page_address(wrong.page), 0, PAGE_SIZE);
}
