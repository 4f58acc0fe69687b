// SPDX-License-Identifier: GPL-2.0-only
/* Parse lines, words and numbers that were written to a file and are already in memory. */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include <kmarkers/words.h>

#include "words.h"

/**
 * kmarkers_strip_newline() - remove the newline at the end of a line, and check the line
 * @text: the line, with a NUL after it; modified
 * @count: length of the line in bytes, without the NUL
 *
 * Return: 0, or -EINVAL if the line is empty or contains a NUL.
 */
int kmarkers_strip_newline(char *text, size_t count)
{
	if (count && text[count - 1] == '\n')
		text[--count] = '\0';
	return count && strlen(text) == count ? 0 : -EINVAL;
}

/**
 * patcher_split_words() - split a line at single spaces
 * @line: the line; modified
 * @words: array of at least @max_words elements; set to pointers to the words in @line
 * @max_words: maximum number of words
 *
 * Return: the number of words, or -EINVAL if a word is empty or the line has more than @max_words.
 */
int patcher_split_words(char *line, char **words, unsigned int max_words)
{
	unsigned int nr = 0;

	while (line) {
		char *word = strsep(&line, " ");

		if (!*word || nr == max_words)
			return -EINVAL;
		words[nr++] = word;
	}
	return nr;
}
EXPORT_SYMBOL_GPL(patcher_split_words);

/**
 * patcher_run_command() - run a command for the objects that match a pattern
 * @line: "PATTERN VERB" or "PATTERN -VERB", with one space between them; modified
 * @verbs: array of the accepted verbs
 * @nr: number of verbs
 *
 * Return: -EINVAL if @line has another form, or if the verb is not in @verbs; else the return value
 * of the verb's function.
 */
int patcher_run_command(char *line, const struct patcher_verb *verbs, unsigned int nr)
{
	char *words[2];
	unsigned int i;
	bool off;

	if (patcher_split_words(line, words, 2) != 2)
		return -EINVAL;
	off = words[1][0] == '-';
	for (i = 0; i < nr; i++)
		if (!strcmp(words[1] + off, verbs[i].word))
			return verbs[i].run(words[0], !off);
	return -EINVAL;
}
EXPORT_SYMBOL_GPL(patcher_run_command);

/**
 * patcher_parse_number() - parse a number
 * @text: decimal, hexadecimal after 0x or octal after 0, and nothing else
 * @is_signed: true for an s64, which may be negative; false for a u64
 * @value: set to the number; if @is_signed, cast it to s64
 *
 * Return: 0, or -EINVAL.
 */
int patcher_parse_number(const char *text, bool is_signed, u64 *value)
{
	s64 number;

	/* kstrto*() would accept a newline at the end. */
	if (strchr(text, '\n'))
		return -EINVAL;
	if (!is_signed)
		return kstrtou64(text, 0, value) ? -EINVAL : 0;
	if (kstrtos64(text, 0, &number))
		return -EINVAL;
	*value = number;
	return 0;
}
EXPORT_SYMBOL_GPL(patcher_parse_number);

static bool is_letter_or_underscore(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/**
 * patcher_is_identifier() - check whether a string is an identifier
 * @name: the string
 *
 * Return: true if @name is not empty and has only ASCII letters, digits and underscores.
 */
bool patcher_is_identifier(const char *name)
{
	const char *at;

	for (at = name; is_letter_or_underscore(*at) || (*at >= '0' && *at <= '9'); at++)
		;
	return at > name && !*at;
}
EXPORT_SYMBOL_GPL(patcher_is_identifier);
