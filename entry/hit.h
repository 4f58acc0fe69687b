/* SPDX-License-Identifier: GPL-2.0-only */
/* From a site that is on to what is done with its hits. */
#ifndef ENTRY_HIT_H
#define ENTRY_HIT_H

/* What sites call: it keeps all registers.  Not to be called from C. */
void entry_call(void);

/* What entry_call() calls: @next is behind the site, @caller is the function's caller. */
void entry_hit(unsigned long next, unsigned long caller);

unsigned long entry_unwatched(void);

#endif /* ENTRY_HIT_H */
