// SPDX-License-Identifier: GPL-2.0-only
/*
 * Implementation of chunks.h in the kernel.  vmalloc() provides memory that is mapped by small
 * pages.  The page allocator provides memory that the kernel's direct mapping maps by huge pages.
 */
#include <linux/errno.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "chunks.h"

#define PAGE_ORDER	(BENCH_CHUNK_ORDER - PAGE_SHIFT)

static void free_huge_chunks(u8 **chunks, unsigned int nr)
{
	while (nr--)
		free_pages((unsigned long)chunks[nr], PAGE_ORDER);
}

static int alloc_huge_chunks(u8 **chunks, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		chunks[i] = (u8 *)__get_free_pages(GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN |
						   __GFP_NORETRY, PAGE_ORDER);
		if (!chunks[i]) {
			free_huge_chunks(chunks, i);
			return -ENODEV;
		}
	}
	return 0;
}

/**
 * bench_alloc_chunks() - allocate a buffer of zeros whose pages are all present
 * @chunks: filled in with the addresses of chunks of BENCH_CHUNK bytes
 * @nr: number of chunks
 * @huge: true to map each chunk by a huge page, false to map it by small pages
 *
 * Return: 0, -ENOMEM, or -ENODEV if there are not enough huge pages.
 */
int bench_alloc_chunks(u8 **chunks, unsigned int nr, bool huge)
{
	unsigned int i;
	u8 *all;

	if (huge)
		return alloc_huge_chunks(chunks, nr);
	all = vzalloc(nr * BENCH_CHUNK);
	if (!all)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		chunks[i] = all + i * BENCH_CHUNK;
	return 0;
}

void bench_free_chunks(u8 **chunks, unsigned int nr, bool huge)
{
	if (huge)
		free_huge_chunks(chunks, nr);
	else
		vfree(chunks[0]);
}

/* Return an estimate of the memory that can be allocated without swapping, in bytes. */
u64 bench_read_available_memory(void)
{
	return (u64)si_mem_available() << PAGE_SHIFT;
}
