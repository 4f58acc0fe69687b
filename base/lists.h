/* SPDX-License-Identifier: GPL-2.0-only */
/* Printing of long lists in one pass with a mutex held. */
#ifndef BASE_LISTS_H
#define BASE_LISTS_H

#include <linux/sched.h>
#include <linux/seq_file.h>

/*
 * May another line be printed?  Others run in between.  What does not fit is printed once more
 * with more room, so it need not be printed now.
 */
static inline bool kmarkers_list_goes_on(struct seq_file *m)
{
	cond_resched();
	return !seq_has_overflowed(m);
}

#endif /* BASE_LISTS_H */
