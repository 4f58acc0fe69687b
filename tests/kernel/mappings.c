// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts mappings in the kernel's page tables, at addresses above the direct map.  The direct map
 * is not checked, because the kernel itself keeps text read-only there.
 */
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/vmalloc.h>
#include <asm/io.h>
#include <asm/processor.h>

#include "core_test.h"

/**
 * struct walk - parameter and results of a walk through page tables
 * @pfn: page frame number of the text
 * @writable: number of entries that map this page frame writable
 * @executable: number of entries that map any page frame writable and executable
 */
struct walk {
	unsigned long pfn;
	unsigned int writable;
	unsigned int executable;
};

static void count_entry(struct walk *walk, unsigned long pfn, unsigned long pages,
			unsigned long flags)
{
	if (!(flags & _PAGE_RW))
		return;
	if (walk->pfn - pfn < pages)
		walk->writable++;
	if (!(flags & _PAGE_NX))
		walk->executable++;
}

static void walk_ptes(struct walk *walk, pmd_t *pmd)
{
	pte_t *pte = (pte_t *)pmd_page_vaddr(*pmd);
	unsigned int i;

	for (i = 0; i < PTRS_PER_PTE; i++)
		if (pte_present(pte[i]))
			count_entry(walk, pte_pfn(pte[i]), 1, pte_flags(pte[i]));
}

static void walk_pmds(struct walk *walk, pud_t *pud)
{
	pmd_t *pmd = (pmd_t *)__va(pud_val(*pud) & pud_pfn_mask(*pud));
	unsigned int i;

	for (i = 0; i < PTRS_PER_PMD; i++) {
		if (!pmd_present(pmd[i]))
			continue;
		if (pmd_flags(pmd[i]) & _PAGE_PSE)
			count_entry(walk, pmd_pfn(pmd[i]), PTRS_PER_PTE, pmd_flags(pmd[i]));
		else
			walk_ptes(walk, &pmd[i]);
	}
}

/* Count the mappings from @start to @end.  The kernel maps no 1 GB pages in this range. */
static void walk_range(struct walk *walk, unsigned long start, unsigned long end)
{
	unsigned long addr;

	for (addr = start & PUD_MASK; addr - 1 < end - 1; addr += PUD_SIZE) {
		pgd_t *pgd = pgd_offset_pgd(__va(read_cr3_pa()), addr);
		p4d_t *p4d = pgd_none(*pgd) ? NULL : p4d_offset(pgd, addr);
		pud_t *pud = !p4d || p4d_none(*p4d) ? NULL : pud_offset(p4d, addr);

		if (!p4d)
			addr = (addr & PGDIR_MASK) + PGDIR_SIZE - PUD_SIZE;
		else if (!pud)
			addr = (addr & P4D_MASK) + P4D_SIZE - PUD_SIZE;
		else if (pud_present(*pud) && !(pud_flags(*pud) & _PAGE_PSE))
			walk_pmds(walk, pud);
	}
}

/*
 * Write "writable N executable M" to @answer: N is the number of writable mappings of the
 * page at @addr, M the number of mappings of any page that are writable and executable.
 */
void count_mappings(unsigned long addr, char *answer, unsigned int size)
{
	struct walk walk = { 0 };

	if (addr >= MODULES_VADDR)
		walk.pfn = vmalloc_to_pfn((void *)addr);
	else
		walk.pfn = (addr - __START_KERNEL_map + phys_base) >> PAGE_SHIFT;
	walk_range(&walk, VMALLOC_START, VMALLOC_END);
	walk_range(&walk, __START_KERNEL_map, MODULES_END);
	snprintf(answer, size, "writable %u executable %u\n", walk.writable, walk.executable);
}
