/* SPDX-License-Identifier: GPL-2.0-only */
/* Dispatch of the hits of enabled sites. */
#ifndef ENTRY_HIT_H
#define ENTRY_HIT_H

/* The function that enabled sites call: it preserves all registers. Not callable from C. */
void entry_call(void);

/* Called by entry_call(): @next is the address behind the site, @caller the function's caller. */
void entry_hit(unsigned long next, unsigned long caller);

unsigned long entry_unwatched(void);

#endif /* ENTRY_HIT_H */
