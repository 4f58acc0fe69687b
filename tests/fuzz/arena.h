/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The platform functions of the patcher for fuzz targets: the patcher changes an array of bytes
 * instead of text.  The bytes are checked after each round of the protocol.
 */
#ifndef TESTS_FUZZ_ARENA_H
#define TESTS_FUZZ_ARENA_H

#include "fuzz.h"

#define ARENA_BYTES	256

extern u8 arena[ARENA_BYTES];

/*
 * Values that the patcher's platform functions return in fuzz targets:
 * patcher_text_can_wait_for_tasks(), patcher_is_one_cpu_online() and patcher_text_check_core().
 */
extern bool arena_can_wait, arena_alone;
extern int arena_vet;

/* Fill the arena with instructions selected by the input. */
void arena_fill(struct input *in);

/*
 * Write @len bytes selected by the input to @bytes: an instruction, if one of @len bytes exists.
 */
void arena_take_instruction(struct input *in, u8 *bytes, unsigned int len);

/* Return an address in the arena selected by the input, often the start of an instruction. */
u8 *arena_take_address(struct input *in);

/* Return the length of the instruction at @place, or 1 if the bytes cannot be decoded. */
unsigned int arena_get_insn_len(const u8 *place);

#endif /* TESTS_FUZZ_ARENA_H */
