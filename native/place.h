/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Offsets of the stack and the heap of a process.  They change the cost of code, by amounts
 * that differ from process to process.
 */
#ifndef NATIVE_PLACE_H
#define NATIVE_PLACE_H

#include <alloca.h>
#include <stdio.h>

/* Return the offset of the stack, in bytes, for a seed: a multiple of 16 within a page. */
unsigned int native_place_stack(unsigned long long seed);

/* Move the heap.  Without memory it stays; the benchmarks then end with an error, too. */
void native_place_heap(unsigned long long seed);

/* Print both offsets as lines of the file env. */
void native_place_show(FILE *file, unsigned long long seed);

/* Move the stack until the calling function returns.  The asm keeps the unused allocation. */
#define NATIVE_PLACE_STACK(seed)					\
	asm volatile("" : : "r" (alloca(native_place_stack(seed) + 1)) : "memory")

#endif /* NATIVE_PLACE_H */
