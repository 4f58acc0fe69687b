/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a process has its stack and its heap.  What these places do to the cost of code
 * differs from process to process, and is not the same in all.
 */
#ifndef NATIVE_PLACE_H
#define NATIVE_PLACE_H

#include <alloca.h>
#include <stdio.h>

/* By how many bytes a process of this seed moves either: multiples of 16 within a page. */
unsigned int native_place_stack(unsigned long long seed);

/* Move the heap.  Without memory it stays; the benchmarks then end with an error, too. */
void native_place_heap(unsigned long long seed);

/* Print both as lines of the file env. */
void native_place_show(FILE *file, unsigned long long seed);

/* Move the stack until the calling function returns.  The asm keeps what nothing uses. */
#define NATIVE_PLACE_STACK(seed)					\
	asm volatile("" : : "r" (alloca(native_place_stack(seed) + 1)) : "memory")

#endif /* NATIVE_PLACE_H */
