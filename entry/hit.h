/* SPDX-License-Identifier: GPL-2.0-only */
/* Dispatch of the hits of enabled sites. */
#ifndef ENTRY_HIT_H
#define ENTRY_HIT_H

/*
 * The function that enabled sites call. It preserves all registers, and must not be called by C
 * code.
 */
void entry_call(void);

/*
 * Handle a hit; called by entry_call(). @next is the address of the instruction after the site,
 * @caller is the return address of the function.
 */
void entry_handle_hit(unsigned long next, unsigned long caller);

unsigned long entry_count_hits_without_rcu(void);

#endif /* ENTRY_HIT_H */
