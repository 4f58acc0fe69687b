/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A few bytes that stand for text: the platform below the patcher in the fuzz
 * targets.  Each round of the protocol is checked while it runs.
 */
#ifndef TESTS_FUZZ_ARENA_H
#define TESTS_FUZZ_ARENA_H

#include "fuzz.h"

#define ARENA_BYTES	256

extern u8 arena[ARENA_BYTES];

/* Results of patcher_text_can_wait(), patcher_text_alone() and patcher_text_vet_core(). */
extern bool arena_can_wait, arena_alone;
extern int arena_vet;

/* Fill the arena with instructions, from the input. */
void arena_fill(struct input *in);

/* One instruction of @len bytes from the input; other bytes if there is none such. */
void arena_instruction(struct input *in, u8 *bytes, unsigned int len);

/* Somewhere in the arena, often at the start of an instruction. */
u8 *arena_place(struct input *in);

/* Bytes of the instruction at a place; 1 if it is none. */
unsigned int arena_len(const u8 *place);

#endif /* TESTS_FUZZ_ARENA_H */
