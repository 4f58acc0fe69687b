// SPDX-License-Identifier: GPL-2.0-only
/* Lines, words and numbers that were written to a file; pure text. */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include <kmarkers/words.h>

#include "words.h"

/**
 * kmarkers_end_line() - make a line of what was written
 * @text: it, and a NUL behind it; a newline at its end is taken away
 * @count: bytes of it
 *
 * Return: 0, or -EINVAL if nothing is left or there is a NUL within.
 */
int kmarkers_end_line(char *text, size_t count)
{
	if (count && text[count - 1] == '\n')
		text[--count] = '\0';
	return count && strlen(text) == count ? 0 : -EINVAL;
}

/**
 * patcher_split_words() - take apart a line whose words have one space between them
 * @line: the line; modified
 * @words: where to put them
 * @most: how many there may be
 *
 * Return: how many there are, or -EINVAL for too many or an empty one.
 */
int patcher_split_words(char *line, char **words, unsigned int most)
{
	unsigned int nr = 0;

	while (line) {
		char *word = strsep(&line, " ");

		if (!*word || nr == most)
			return -EINVAL;
		words[nr++] = word;
	}
	return nr;
}
EXPORT_SYMBOL_GPL(patcher_split_words);

/**
 * kmarkers_parse_number() - understand a number
 * @text: decimal, hexadecimal behind 0x or octal behind 0, and nothing else
 * @is_signed: it may be negative, and must fit into an s64
 * @value: the number; an s64 if @is_signed
 *
 * Return: 0, or -EINVAL.
 */
int kmarkers_parse_number(const char *text, bool is_signed, u64 *value)
{
	s64 number;

	/* kstrto*() pass over one at the end. */
	if (strchr(text, '\n'))
		return -EINVAL;
	if (!is_signed)
		return kstrtou64(text, 0, value) ? -EINVAL : 0;
	if (kstrtos64(text, 0, &number))
		return -EINVAL;
	*value = number;
	return 0;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/**
 * patcher_is_identifier() - can this be a name, of a directory too?
 * @name: the name
 *
 * Return: whether it is of ASCII letters, digits and underscores.
 */
bool patcher_is_identifier(const char *name)
{
	const char *at;

	for (at = name; is_letter(*at) || (*at >= '0' && *at <= '9'); at++)
		;
	return at > name && !*at;
}
EXPORT_SYMBOL_GPL(patcher_is_identifier);
