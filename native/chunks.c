// SPDX-License-Identifier: GPL-2.0-only
/* Implementation of chunks.h in user space: buffers whose page size is set by madvise(). */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "../bench_modules/chunks.h"

/* Return the total size of huge pages, in KiB, in the mappings that overlap a range. */
static u64 sum_huge_page_kib(unsigned long from, unsigned long to)
{
	FILE *file = fopen("/proc/self/smaps", "r");
	unsigned long start, end, kib;
	char line[512];
	bool inside = false;
	u64 all = 0;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			inside = start < to && end > from;
		else if (inside && sscanf(line, "AnonHugePages: %lu", &kib) == 1)
			all += kib;
	}
	if (file)
		fclose(file);
	return all;
}

/* Map @bytes bytes of memory, aligned to BENCH_CHUNK. */
static u8 *map_aligned_memory(unsigned long bytes)
{
	u8 *all = mmap(NULL, bytes + BENCH_CHUNK, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned long before;

	if (all == MAP_FAILED)
		return NULL;
	before = -(unsigned long)all % BENCH_CHUNK;
	if (before)
		munmap(all, before);
	munmap(all + before + bytes, BENCH_CHUNK - before);
	return all + before;
}

int bench_alloc_chunks(u8 **chunks, unsigned int nr, bool huge)
{
	unsigned long bytes = nr * BENCH_CHUNK, at;
	u8 *all = map_aligned_memory(bytes);
	unsigned int i;

	if (!all)
		return -ENOMEM;
	/* madvise() fails, and all pages are small, if the kernel has no transparent huge pages. */
	madvise(all, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	memset(all, 0, bytes);
	at = (unsigned long)all;
	if (huge && sum_huge_page_kib(at, at + bytes) < bytes / 1024 / 10 * 9) {
		munmap(all, bytes);
		return -ENODEV;
	}
	for (i = 0; i < nr; i++)
		chunks[i] = all + i * BENCH_CHUNK;
	return 0;
}

void bench_free_chunks(u8 **chunks, unsigned int nr, bool huge)
{
	munmap(chunks[0], nr * BENCH_CHUNK);
}

u64 bench_read_available_memory(void)
{
	FILE *file = fopen("/proc/meminfo", "r");
	unsigned long kib = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file) && !kib)
		sscanf(line, "MemAvailable: %lu", &kib);
	if (file)
		fclose(file);
	return (u64)kib << 10;
}
