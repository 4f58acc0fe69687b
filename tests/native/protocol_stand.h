/* SPDX-License-Identifier: GPL-2.0-only */
/* Three sites, and calls between the steps of a batch that changes them. */
#ifndef TESTS_NATIVE_PROTOCOL_STAND_H
#define TESTS_NATIVE_PROTOCOL_STAND_H

#include <linux/types.h>

struct patcher_site;
struct patcher_table;
struct pt_regs;

#define INSN	5
#define INT3	0xcc

extern u8 protocol_site_first[], protocol_site_second[], protocol_site_leaf[];
extern const u8 protocol_nop[INSN], protocol_jump[INSN], protocol_trapped[INSN];

/* Execute two sites.  Return 3 if both are nops.  A jump passes over the code behind it. */
int protocol_run(void);

/*
 * A leaf function keeps its locals in the 128 bytes below the stack pointer.
 * This one fills them, executes its site, and returns the number that changed.
 */
unsigned int protocol_leaf(void);

/* Register the sites; change all of them in one batch; restore and unregister them. */
int protocol_start(void);
int protocol_change(const u8 *old, const u8 *new);
void protocol_forget(void);

/* The trap function of the table, if set before protocol_start(); change the first site by a store. */
extern bool (*protocol_trap)(const struct patcher_table *table, const struct patcher_site *site,
			     struct pt_regs *regs);
int protocol_store(const u8 *old, const u8 *new);

/* Called after each round of a batch. */
extern void (*protocol_after_round)(void);

/* Called by the breakpoint handler before it emulates an instruction. */
extern void (*protocol_in_handler)(void);

/* Called once, by the breakpoint handler when it looks for a site because no poke is pending. */
extern void (*protocol_in_lookup)(void);

#endif /* TESTS_NATIVE_PROTOCOL_STAND_H */
