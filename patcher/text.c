// SPDX-License-Identifier: GPL-2.0-only
/* Implementation of patcher/text.h for the kernel: map text for writing, synchronise all CPUs. */
#include <linux/cpu.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>
#include <asm/page.h>
#include <asm/processor.h>
#include <asm/sync_core.h>

#include <kmarkers/hypervisor.h>

#include "core_text.h"
#include "kprobes.h"
#include "claim_check.h"
#include "pokes.h"
#include "text.h"

#define PAGE_OF(addr)	((unsigned long)(addr) & PAGE_MASK)

bool patcher_is_module_text(struct module *module, unsigned long addr, unsigned int len)
{
	unsigned long last = addr + len - 1;

	return module && within_module_core(addr, module) && within_module_core(last, module) &&
	       compat_is_in_module_text(module, addr) && compat_is_in_module_text(module, last);
}

bool patcher_is_text_unexecuted(const struct module *module)
{
	return module && module->state == MODULE_STATE_COMING;
}

/*
 * Find the page of an address.  Core text is mapped linearly from phys_base.  Module text is
 * mapped page by page, so its page is found by a walk of the page tables.
 *
 * Newer kernels merge small pages of module text into large pages, and free the page table that
 * mapped the small pages.  A page table walk should therefore hold a lock of init_mm, but the
 * kernel does not export init_mm.  The kernel frees the page table after a TLB flush on every CPU.
 * A flush by IPIs waits for this walk, because the walk is made with interrupts off.  A flush
 * without IPIs (AMD's INVLPGB) does not wait, so the walk may read a table that has been reused,
 * and return a wrong page.  So pfn_valid() checks the result of the walk, and compare_old_bytes()
 * compares the bytes in the page before they are written.
 */
static struct page *find_text_page(unsigned long addr)
{
	struct page *page;
	unsigned long flags;

	if (!patcher_is_core_text(addr)) {
		local_irq_save(flags);
		page = vmalloc_to_page((void *)addr);
		local_irq_restore(flags);
		return page && pfn_valid(page_to_pfn(page)) ? page : NULL;
	}
	return pfn_to_page((addr - __START_KERNEL_map + phys_base) >> PAGE_SHIFT);
}

/*
 * Return how many pokes, from the start of @pokes, end at or before @end.  This is an exponential
 * search: a range is doubled until its last poke ends behind @end, and is then searched by
 * bisection.
 */
static unsigned int count_pokes_before(const struct patcher_poke *pokes, unsigned int nr,
				       unsigned long end)
{
	unsigned int range = 1;

	while (range < nr && patcher_get_poke_end(pokes, range - 1) <= end)
		range *= 2;
	return patcher_find_poke_ending_behind(pokes, min(range, nr), end);
}

/*
 * Walk the distinct pages that the pokes change, in the order of their addresses.  If @pages is not
 * NULL, store the pages in @pages.  If @base, the address at which these pages are mapped one after
 * another, is not NULL, set the alias of each poke.  Return the number of pages.
 */
static unsigned int walk_text_pages(struct page **pages, u8 *base, struct patcher_poke *pokes,
				    unsigned int nr)
{
	unsigned long page, page_end = 0;
	unsigned int i = 0, next, count;

	for (count = 0; i < nr; count++) {
		/* The next poke may begin on the last page and end on the following page. */
		page = max(PAGE_OF(pokes[i].addr), page_end);
		page_end = page + PAGE_SIZE;
		next = i + count_pokes_before(&pokes[i], nr - i, page_end);
		if (pages)
			pages[count] = find_text_page(page);
		for (; base && i < next; i++)
			pokes[i].alias = pokes[i].addr + ((unsigned long)base - page);
		i = next;
		base += base ? PAGE_SIZE : 0;
	}
	return count;
}

int patcher_text_map(struct patcher_text_alias *alias, struct patcher_poke *pokes, unsigned int nr)
{
	struct page **pages;
	unsigned int i;

	alias->nr_pages = walk_text_pages(NULL, NULL, pokes, nr);
	pages = kvmalloc_array(alias->nr_pages, sizeof(*pages), GFP_KERNEL);
	if (!pages)
		return -ENOMEM;
	walk_text_pages(pages, NULL, pokes, nr);
	alias->base = NULL;
	for (i = 0; i < alias->nr_pages && pages[i]; i++)
		;
	if (i == alias->nr_pages)
		/* A mapping with PAGE_KERNEL is not executable. */
		alias->base = vmap(pages, alias->nr_pages, VM_MAP, PAGE_KERNEL);
	kvfree(pages);
	if (!alias->base)
		return -ENOMEM;
	walk_text_pages(NULL, alias->base, pokes, nr);
	return 0;
}

void patcher_text_unmap(struct patcher_text_alias *alias)
{
	vunmap(alias->base);
	/*
	 * Flush the TLBs now: vunmap() delays the flush, and CPUs could write to the text
	 * meanwhile.
	 */
	vm_unmap_aliases();
}

void patcher_text_lock(bool core_text)
{
	patcher_kprobes_lock();
	cpus_read_lock();
	if (core_text)
		patcher_core_text_lock();
}

void patcher_text_unlock(bool core_text)
{
	if (core_text)
		patcher_core_text_unlock();
	cpus_read_unlock();
	patcher_kprobes_unlock();
}

int patcher_text_check_kprobes(const struct patcher_poke *pokes, unsigned int nr, bool locked)
{
	return locked ? patcher_check_for_kprobes(pokes, nr) :
			patcher_kprobes_add_guards(pokes, nr);
}

void patcher_text_remove_unneeded_guards(void)
{
	patcher_kprobes_remove_unneeded_guards();
}

int patcher_text_check_core(const struct patcher_poke *pokes, unsigned int nr)
{
	return patcher_check_core_pokes(pokes, nr);
}

bool patcher_text_can_wait_for_tasks(void)
{
	return true;
}

static void do_nothing(struct work_struct *work)
{
}

/*
 * A task that was preempted in the text has left it after a tasks-RCU grace period.  Such a period
 * does not wait for idle tasks, so run a work item on each online CPU, too: an idle task is not
 * preempted, and calls the scheduler only in the idle loop.
 */
void patcher_text_wait_for_tasks(void)
{
	struct work_struct work;
	unsigned int cpu;

	synchronize_rcu_tasks();
	INIT_WORK_ONSTACK(&work, do_nothing);
	for_each_online_cpu(cpu) {
		schedule_work_on(cpu, &work);
		flush_work(&work);
	}
	destroy_work_on_stack(&work);
}

bool patcher_is_one_cpu_online(void)
{
	return num_online_cpus() == 1;
}

static void serialise_cpu(void *unused)
{
	sync_core();
}

/*
 * Make every CPU execute sync_core(), and wait until all CPUs have executed it.  A breakpoint
 * handler runs with interrupts off, so on return every handler that was entered before the call has
 * ended.
 */
void patcher_text_sync(void)
{
	on_each_cpu(serialise_cpu, NULL, 1);
}

static bool are_on_same_page(const u8 *a, const u8 *b)
{
	return (unsigned long)a >> PAGE_SHIFT == (unsigned long)b >> PAGE_SHIFT;
}

/*
 * Store the first byte of each poke a second time if QEMU emulates this machine.  If QEMU has a
 * thread for each CPU, QEMU misses stores to a page in two cases:
 *
 * - A thread has fetched bytes of the page, but has not yet registered their translation.
 * - Thread A, which stores to the page, has found no translation of code in the page.  Thread B
 *   registers a translation.  Then A marks the page as free of code (notdirty_write()), and QEMU
 *   misses all further stores of A to the page, until A looks up the mapping of the page once
 *   more.  INVLPG forces this look-up.
 */
void patcher_text_store_first_bytes_again(struct patcher_poke *pokes, unsigned int nr)
{
	unsigned int i, first = 0;

	if (!kmarkers_is_emulated())
		return;
	while (first < nr) {
		preempt_disable();
		asm volatile("invlpg %0" : : "m" (*pokes[first].alias) : "memory");
		for (i = first; i < nr && are_on_same_page(pokes[i].alias, pokes[first].alias); i++)
			WRITE_ONCE(*pokes[i].alias, pokes[i].new[0]);
		preempt_enable();
		first = i;
	}
}
