// SPDX-License-Identifier: GPL-2.0-only
/* Parse the commands that are written to debugfs files; control_file.c and files.c run them. */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include <kmarkers/words.h>

#include "command.h"

static const struct control_command commands[] = {
	{ "trace", CONTROL_TRACE, 0 },
	{ "count", CONTROL_COUNT, 0 },
	{ "-trace", 0, CONTROL_TRACE },
	{ "-count", 0, CONTROL_COUNT },
	{ "none", 0, CONTROL_TRACE | CONTROL_COUNT },
};

/* Return the command that is written as @word, or NULL if there is no such command. */
const struct control_command *marker_command_find(const char *word)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(word, commands[i].word))
			return &commands[i];
	return NULL;
}

/*
 * Return the command for a word that was written to a debugfs file "enable": the command "trace"
 * for the word "1", the command "-trace" for "0", NULL for any other word.
 */
const struct control_command *marker_command_parse_enable_word(const char *word)
{
	if (!strcmp(word, "1"))
		return marker_command_find("trace");
	return strcmp(word, "0") ? NULL : marker_command_find("-trace");
}

/**
 * marker_command_parse_line() - parse a line written to the file "control"
 * @line: "PATTERN COMMAND", "attach FUNCTION [NAME]" or "detach NAME", with one
 *	space between words; modified
 * @request: set to the parsed request, with pointers into @line
 *
 * Return: 0, or -EINVAL if the line has none of these forms.
 */
int marker_command_parse_line(char *line, struct control_request *request)
{
	char *words[3] = { NULL };

	if (patcher_split_words(line, words, ARRAY_SIZE(words)) < 2)
		return -EINVAL;
	*request = (struct control_request) { .object = words[1] };
	if (!strcmp(words[0], "attach")) {
		request->verb = CONTROL_ATTACH;
		request->name = words[2] ?: words[1];
		return 0;
	}
	if (words[2])
		return -EINVAL;
	if (!strcmp(words[0], "detach")) {
		request->verb = CONTROL_DETACH;
		return 0;
	}
	request->verb = CONTROL_APPLY;
	request->object = words[0];
	request->command = marker_command_find(words[1]);
	return request->command ? 0 : -EINVAL;
}
