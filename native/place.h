/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Offsets of the stack and the heap of a process.  The cost of code depends on the addresses of
 * stack and heap, so each process of a run uses other offsets.
 */
#ifndef NATIVE_PLACE_H
#define NATIVE_PLACE_H

#include <alloca.h>
#include <stdio.h>

/*
 * Return the offset of the stack for a seed, in bytes: a multiple of 16 that is less than a page.
 */
unsigned int native_compute_stack_offset(unsigned long long seed);

/*
 * Move the heap by the offset for a seed.  A lack of memory is not reported here, because the
 * benchmarks will then fail and report an error.
 */
void native_move_heap(unsigned long long seed);

/* Print the offsets of the stack and the heap as lines of the file env. */
void native_show_memory_offsets(FILE *file, unsigned long long seed);

/*
 * Move the stack until the calling function returns.  The asm keeps the compiler from removing the
 * allocation.
 */
#define NATIVE_MOVE_STACK(seed)						\
	asm volatile("" : : "r" (alloca(native_compute_stack_offset(seed) + 1)) : "memory")

#endif /* NATIVE_PLACE_H */
