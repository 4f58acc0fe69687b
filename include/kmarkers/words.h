/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The directory of our files in debugfs, and parsing of lines of words and of numbers
 * that are written to them.
 *
 * A write is one line, with or without a newline at its end.  Parsing is strict: a line
 * with any part that is not understood is refused as a whole, before anything is changed.
 *
 *	function			may sleep  irq  nmi
 *	patcher_debugfs_dir()		yes	   yes	yes
 *	patcher_read_line()		yes	   no	no
 *	patcher_read_number()		yes	   no	no
 *	the others			no	   yes	yes
 */
#ifndef KMARKERS_WORDS_H
#define KMARKERS_WORDS_H

#include <linux/types.h>

#ifdef __KERNEL__
struct dentry;

struct dentry *patcher_debugfs_dir(void);
char *patcher_read_line(const char __user *buf, size_t count, size_t most);
int patcher_read_number(const char __user *buf, size_t count, bool is_signed, u64 *value);
#endif
int patcher_parse_number(const char *text, bool is_signed, u64 *value);
int patcher_split_words(char *line, char **words, unsigned int most);
bool patcher_is_identifier(const char *name);

#endif /* KMARKERS_WORDS_H */
