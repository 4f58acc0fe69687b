// SPDX-License-Identifier: GPL-2.0-only
/* Offsets of a process's stack and heap, which its seed determines. */
#include <stdlib.h>

#include "place.h"

/* 2^64 divided by the golden ratio: multiples of this number are spread evenly. */
#define SPREAD		0x9e3779b97f4a7c15ULL

unsigned int native_place_stack(unsigned long long seed)
{
	return (seed * SPREAD >> 56) * 16;
}

static unsigned int heap_offset(unsigned long long seed)
{
	return (seed * SPREAD >> 48 & 0xff) * 16;
}

/* What is allocated here is never freed: everything allocated later lies behind it. */
void native_place_heap(unsigned long long seed)
{
	static void *kept;

	kept = malloc(heap_offset(seed) + 1);
	/* Keep the compiler from removing the unused allocation. */
	asm volatile("" : : "r" (kept) : "memory");
}

void native_place_show(FILE *file, unsigned long long seed)
{
	fprintf(file, "stack_offset=%u\n", native_place_stack(seed));
	fprintf(file, "heap_offset=%u\n", heap_offset(seed));
}
