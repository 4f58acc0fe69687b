// SPDX-License-Identifier: GPL-2.0-only
/* Offsets of the stack and the heap of a process, derived from a seed. */
#include <stdlib.h>

#include "place.h"

/* 2^64 divided by the golden ratio: its multiples modulo 2^64 are evenly distributed. */
#define SPREAD		0x9e3779b97f4a7c15ULL

unsigned int native_compute_stack_offset(unsigned long long seed)
{
	return (seed * SPREAD >> 56) * 16;
}

static unsigned int compute_heap_offset(unsigned long long seed)
{
	return (seed * SPREAD >> 48 & 0xff) * 16;
}

/* Move the heap: allocate a block that is never freed.  Later allocations have higher addresses. */
void native_move_heap(unsigned long long seed)
{
	static void *kept;

	kept = malloc(compute_heap_offset(seed) + 1);
	/* Keep the compiler from removing the unused allocation. */
	asm volatile("" : : "r" (kept) : "memory");
}

void native_show_memory_offsets(FILE *file, unsigned long long seed)
{
	fprintf(file, "stack_offset=%u\n", native_compute_stack_offset(seed));
	fprintf(file, "heap_offset=%u\n", compute_heap_offset(seed));
}
