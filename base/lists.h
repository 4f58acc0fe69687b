/* SPDX-License-Identifier: GPL-2.0-only */
/* Helper for functions that print a long list to a seq_file while they hold a mutex. */
#ifndef BASE_LISTS_H
#define BASE_LISTS_H

#include <linux/sched.h>
#include <linux/seq_file.h>

/*
 * Reschedule if needed.  Return false if the buffer of a seq_file has overflowed: further lines
 * need not be printed, because seq_file calls the show function again, with a larger buffer.
 */
static inline bool kmarkers_seq_has_space(struct seq_file *m)
{
	cond_resched();
	return !seq_has_overflowed(m);
}

#endif /* BASE_LISTS_H */
