/* SPDX-License-Identifier: GPL-2.0-only */
/* Three patch sites, and hooks that are called between the steps of a batch. */
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

/*
 * Execute two sites.  Return the sum of 1 if the first site is a nop, and 2 if the second site is a
 * nop.
 */
int protocol_execute_sites(void);

/*
 * Fill the red zone, execute a site, and return the number of words of the red zone that have
 * changed.  The red zone is the 128 bytes below the stack pointer, where a leaf function, which
 * calls no other function, may keep locals.
 */
unsigned int protocol_leaf(void);

/* Register the sites; change all sites in one batch; restore and unregister the sites. */
int protocol_register_sites(void);
int protocol_change_sites(const u8 *old, const u8 *new);
void protocol_restore_sites(void);

/* Trap function of the table; a test sets this pointer before protocol_register_sites(). */
extern bool (*protocol_trap)(const struct patcher_table *table, const struct patcher_site *site,
			     struct pt_regs *regs);

/* Store or remove a permanent breakpoint at the first site. */
int protocol_store_trap(const u8 *old, const u8 *new);

/* Hook that is called after each round of a batch. */
extern void (*protocol_after_round)(void);

/* Hook that the breakpoint handler calls before it emulates an instruction. */
extern void (*protocol_in_handler)(void);

/* Hook that the breakpoint handler calls once, when the handler looks up a site in the tables. */
extern void (*protocol_in_lookup)(void);

/*
 * Hook that decides for which sites patcher_find_probed_pokes() reports a kprobe: it returns true
 * for the site at @addr.  NULL if there are no kprobes.
 */
extern bool (*protocol_is_probed)(const u8 *addr);

#endif /* TESTS_NATIVE_PROTOCOL_STAND_H */
