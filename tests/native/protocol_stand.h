/* SPDX-License-Identifier: GPL-2.0-only */
/* Three sites, and calls between the steps of a batch that changes them. */
#ifndef TESTS_NATIVE_PROTOCOL_STAND_H
#define TESTS_NATIVE_PROTOCOL_STAND_H

#include <linux/types.h>

#define INSN	5
#define INT3	0xcc

extern u8 protocol_site_first[], protocol_site_second[], protocol_site_leaf[];
extern const u8 protocol_nop[INSN], protocol_jump[INSN];

/* 3 with nops; a jump skips the mov that follows it. */
int protocol_run(void);

/*
 * A leaf function keeps its locals in the 128 bytes below the stack pointer.
 * This one fills them, passes its site, and counts those that changed.
 */
unsigned int protocol_leaf(void);

/* Registers the sites; changes all of them at once; leaves nothing of it all. */
int protocol_start(void);
int protocol_change(const u8 *old, const u8 *new);
void protocol_forget(void);

/* Called after each round of a batch. */
extern void (*protocol_after_round)(void);

/* Called by a thread that is in the breakpoint handler. */
extern void (*protocol_in_handler)(void);

/* Called once, by a breakpoint handler that has found nothing pending. */
extern void (*protocol_in_lookup)(void);

#endif /* TESTS_NATIVE_PROTOCOL_STAND_H */
