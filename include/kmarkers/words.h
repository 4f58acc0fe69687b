/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The directory kmarkers/ in debugfs, and parsing of the lines, words and numbers that are
 * written to the files in this directory.
 *
 * A write is one line, with or without a newline at its end.  Parsing is strict: a line
 * with an invalid part is refused as a whole, before anything is changed.
 *
 *	function			may sleep  irq  nmi
 *	patcher_get_debugfs_dir()	yes	   yes	yes
 *	patcher_read_line()		yes	   no	no
 *	patcher_read_number()		yes	   no	no
 *	patcher_run_command()		as the function of the verb
 *	all others			no	   yes	yes
 */
#ifndef KMARKERS_WORDS_H
#define KMARKERS_WORDS_H

#include <linux/types.h>

#ifdef __KERNEL__
struct dentry;

struct dentry *patcher_get_debugfs_dir(void);
char *patcher_read_line(const char __user *buf, size_t count, size_t max_bytes);
int patcher_read_number(const char __user *buf, size_t count, bool is_signed, u64 *value);
#endif
int patcher_parse_number(const char *text, bool is_signed, u64 *value);
/**
 * struct patcher_verb - a command for the objects that match a pattern
 * @word: the verb
 * @run: function that runs the command; @on is false if a dash precedes the verb.  Returns 0;
 *	-EINVAL for a malformed pattern, or for an @on that the verb does not support; or another
 *	error
 */
struct patcher_verb {
	const char *word;
	int (*run)(const char *pattern, bool on);
};

int patcher_split_words(char *line, char **words, unsigned int max_words);
int patcher_run_command(char *line, const struct patcher_verb *verbs, unsigned int nr);
bool patcher_is_identifier(const char *name);

#endif /* KMARKERS_WORDS_H */
