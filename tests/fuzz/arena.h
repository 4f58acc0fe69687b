/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The platform below the patcher in the fuzz targets: a few bytes stand for text.
 * Each round of the protocol is checked while it runs.
 */
#ifndef TESTS_FUZZ_ARENA_H
#define TESTS_FUZZ_ARENA_H

#include "fuzz.h"

#define ARENA_BYTES	256

extern u8 arena[ARENA_BYTES];

/* Results of patcher_text_can_wait(), patcher_text_alone() and patcher_text_vet_core(). */
extern bool arena_can_wait, arena_alone;
extern int arena_vet;

/* Fill the arena with instructions that the input selects. */
void arena_fill(struct input *in);

/* Write an instruction of @len bytes that the input selects, or other bytes, to @bytes. */
void arena_instruction(struct input *in, u8 *bytes, unsigned int len);

/* Return an address in the arena that the input selects, often the start of an instruction. */
u8 *arena_place(struct input *in);

/* Return the length of the instruction at a place, or 1 if there is none. */
unsigned int arena_len(const u8 *place);

#endif /* TESTS_FUZZ_ARENA_H */
