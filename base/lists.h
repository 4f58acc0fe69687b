/* SPDX-License-Identifier: GPL-2.0-only */
/* Function for code that prints a long list to a seq_file while it holds a mutex. */
#ifndef BASE_LISTS_H
#define BASE_LISTS_H

#include <linux/sched.h>
#include <linux/seq_file.h>

/*
 * Return true if the buffer of a seq_file has room for another line; reschedule first if needed.
 * After an overflow, seq_file calls the show function again with a larger buffer.
 */
static inline bool kmarkers_can_print_line(struct seq_file *m)
{
	cond_resched();
	return !seq_has_overflowed(m);
}

#endif /* BASE_LISTS_H */
